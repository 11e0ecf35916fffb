(* The filtered model as a limit, Pythagoras, the validity-KL frontier, many prompts. *)
Require Import Reals List Lra. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Pinsker KLControl.
Import ListNotations. Open Scope R_scope.

Lemma filtered_law {Y} : forall (ys : list Y) a v, law ys a -> 0 < mass ys a v -> law ys (filtered ys a v).
Proof.
  intros ys a v [W S] M. split.
  - intros y I. unfold filtered. apply Rdiv_le_0_compat; [|exact M]. apply Rmult_le_pos; [|apply W, I].
    unfold one. destruct (v y); lra.
  - unfold filtered, Rdiv. rewrite (sum_ext ys _ (fun y => / mass ys a v * (one (v y) * a y))) by (intros; ring).
    rewrite sum_scale. fold (mass ys a v). field. lra.
Qed.
Lemma filtered_positive {Y} : forall (ys : list Y) a v y, positive ys a -> 0 < mass ys a v -> In y ys ->
  v y = true -> 0 < filtered ys a v y.
Proof.
  intros ys a v y P M I V. unfold filtered. rewrite V. simpl. apply Rdiv_lt_0_compat; [|exact M].
  assert (A := P y I). lra.
Qed.
Lemma within_mass {Y} : forall (ys : list Y) q v y, law ys q -> In y ys -> v y = true -> q y <= mass ys q v.
Proof.
  intros ys q v y L I V. replace (q y) with (one (v y) * q y) by (rewrite V; simpl; ring).
  apply (term_le_sum ys (fun y => one (v y) * q y)); [apply mass_weights, L|exact I].
Qed.
(* For q on Y1, and any base. *)
Lemma kl_to_filtered {Y} : forall (ys : list Y) q a v, law ys q -> positive ys a -> 0 < mass ys a v ->
  mass ys q v = 1 -> kl ys q (filtered ys a v) = kl ys q a + ln (mass ys a v).
Proof.
  intros ys q a v L P M Q. assert (Z := valid_support ys q v L Q). destruct L as [_ S].
  unfold kl. rewrite <- (Rmult_1_r (ln _)), <- S, <- sum_scale, <- sum_plus. apply sum_ext. intros y I.
  destruct (v y) eqn:E; [|rewrite (Z y I E); ring].
  unfold filtered. rewrite E. simpl. assert (A := P y I). rewrite Rmult_1_l, ln_quotient by lra. ring.
Qed.
Theorem pythagoras {Y} : forall (ys : list Y) policy base valid, law ys policy -> law ys base -> positive ys base ->
  0 < mass ys base valid -> mass ys policy valid = 1 ->
  kl ys policy base = kl ys policy (filtered ys base valid) - ln (mass ys base valid).
Proof. intros. rewrite kl_to_filtered by auto. ring. Qed.
Lemma filtered_covers {Y} : forall (ys : list Y) q a v, law ys q -> positive ys a -> 0 < mass ys a v ->
  mass ys q v = 1 -> covers ys (filtered ys a v) q.
Proof.
  intros ys q a v L P M Q y I H. destruct (v y) eqn:E; [apply filtered_positive; auto|].
  rewrite (valid_support ys q v L Q y I E) in H. lra.
Qed.
Lemma filtered_mass {Y} : forall (ys : list Y) a v, 0 < mass ys a v -> mass ys (filtered ys a v) v = 1.
Proof.
  intros ys a v M. unfold mass at 1, filtered, Rdiv.
  rewrite (sum_ext ys _ (fun y => / mass ys a v * (one (v y) * a y))).
  - rewrite sum_scale. fold (mass ys a v). field. lra.
  - intros y _. destruct (v y); simpl; ring.
Qed.
Theorem closest {Y} : forall (ys : list Y) policy base valid, law ys policy -> law ys base -> positive ys base ->
  0 < mass ys base valid -> mass ys policy valid = 1 ->
  2 * tv ys policy (filtered ys base valid) ^ 2 <= kl ys policy base + ln (mass ys base valid) /\
  kl ys (filtered ys base valid) base = - ln (mass ys base valid) /\
  (kl ys policy base = - ln (mass ys base valid) <-> forall y, In y ys -> policy y = filtered ys base valid y).
Proof.
  intros ys q a v Lq La Pa M Q. assert (K := kl_to_filtered ys q a v Lq Pa M Q).
  assert (C := filtered_covers ys q a v Lq Pa M Q). assert (Lf := filtered_law ys a v La M).
  assert (P := pinsker ys q _ Lq Lf C). destruct (kl_nonneg ys q _ Lq Lf C) as [_ E]. split; [lra|]. split.
  - assert (F := kl_to_filtered ys _ a v Lf Pa M (filtered_mass ys a v M)).
    destruct (kl_nonneg ys _ _ Lf Lf (fun y _ H => H)) as [_ G]. rewrite (proj2 G) in F by auto. lra.
  - rewrite <- E, K. split; lra.
Qed.
(* The forward KL to p_*, which vanishes with beta. *)
Theorem forward_value {Y} : forall (ys : list Y) base valid beta, law ys base -> positive ys base ->
  0 < mass ys base valid < 1 -> 0 < beta ->
  kl ys (filtered ys base valid) (tilted ys base valid beta) = - ln (expit (logit (mass ys base valid) + 1 / beta)) /\
  kl ys (filtered ys base valid) (tilted ys base valid beta) =
    ln (1 + (1 - mass ys base valid) / mass ys base valid * exp (- (1 / beta))) /\
  kl ys (filtered ys base valid) (tilted ys base valid beta) <= (1 - mass ys base valid) / mass ys base valid * beta.
Proof.
  intros ys a v beta L P M Hb. assert (F := filtered_law ys a v L (proj1 M)). assert (FM := filtered_mass ys a v (proj1 M)).
  rewrite kl_to_tilted, FM by auto. rewrite (proj1 (proj2 (closest ys _ a v F L P (proj1 M) FM))).
  set (m := mass ys a v) in *. assert (Z := normaliser_positive m beta ltac:(lra)). assert (X := exp_pos (1 / beta)).
  assert (E : - ln (expit (logit m + 1 / beta)) = - ln m - 1 / beta + ln (normaliser m beta)).
  { rewrite expit_logit_plus by exact M. fold (normaliser m beta).
    rewrite ln_quotient, ln_mult, ln_exp; try lra. apply Rmult_lt_0_compat; lra. }
  assert (F2 : - ln m - 1 / beta + ln (normaliser m beta) = ln (1 + (1 - m) / m * exp (- (1 / beta)))).
  { replace (1 + (1 - m) / m * exp (- (1 / beta))) with (normaliser m beta / (m * exp (1 / beta)))
      by (rewrite exp_Ropp; unfold normaliser; field; lra).
    rewrite ln_quotient, ln_mult, ln_exp; try lra. apply Rmult_lt_0_compat; lra. }
  split; [exact (eq_sym E)|]. split; [exact F2|]. rewrite F2. set (c := (1 - m) / m).
  assert (Hc : 0 < c) by (apply Rdiv_lt_0_compat; lra). assert (Y1 := exp_pos (- (1 / beta))).
  assert (P0 : 0 < c * exp (- (1 / beta))) by (apply Rmult_lt_0_compat; lra).
  apply Rle_trans with (c * exp (- (1 / beta))); [assert (B := ln_below (1 + c * exp (- (1 / beta)))); lra|].
  apply Rmult_le_compat_l; [lra|]. rewrite exp_Ropp. assert (G := exp_ineq1_le (1 / beta)).
  assert (Q : 0 < 1 / beta) by (apply Rdiv_lt_0_compat; lra).
  apply Rle_trans with (/ (1 / beta)); [apply Rinv_le_contravar; lra|right; field; lra].
Qed.
Definition inside {Y : Type} (ys : list Y) (q a : Y -> R) (v : Y -> bool) : R :=
  mass ys q v * kl ys (filtered ys q v) (filtered ys a v).
Lemma inside_is {Y} : forall (ys : list Y) q a v, law ys q -> positive ys a -> 0 < mass ys a v ->
  inside ys q a v = sum ys (fun y => one (v y) * (q y * (ln (q y) - ln (a y))))
    - mass ys q v * (ln (mass ys q v) - ln (mass ys a v)).
Proof.
  intros ys q a v [W S] P M. unfold inside. assert (N := mass_weights ys q v (conj W S)).
  destruct (sum_nonneg ys _ N) as [Q|Q]; fold (mass ys q v) in Q.
  - set (c := ln (mass ys q v) - ln (mass ys a v)).
    replace (mass ys q v * c) with (sum ys (fun y => c * (one (v y) * q y)))
      by (rewrite sum_scale; fold (mass ys q v); ring).
    unfold kl. rewrite <- sum_scale, <- sum_minus.
    apply sum_ext. intros y I. unfold filtered. destruct (v y) eqn:E; simpl; [|unfold Rdiv; ring].
    assert (A := P y I). rewrite !Rmult_1_l. destruct (W y I) as [H|<-]; [|unfold Rdiv; ring].
    rewrite !ln_quotient by lra. unfold c. field. lra.
  - rewrite <- Q. rewrite !Rmult_0_l, Rminus_0_r. symmetry. apply sum_zero. intros y I.
    assert (Z := sum_zero_each ys _ N (eq_sym Q) y I). simpl in Z. rewrite <- Rmult_assoc, Z. ring.
Qed.
Theorem decomposition {Y} : forall (ys : list Y) policy base valid, law ys policy -> law ys base ->
  positive ys base -> 0 < mass ys base valid < 1 ->
  kl ys policy base = bernoulli_kl (mass ys policy valid) (mass ys base valid)
    + inside ys policy base valid + inside ys policy base (fun y => negb (valid y)).
Proof.
  intros ys q a v Lq La Pa M. assert (M0 := mass_negb ys a v). assert (Q0 := mass_negb ys q v).
  rewrite (proj2 La) in M0. rewrite (proj2 Lq) in Q0.
  rewrite !inside_is by (auto; lra). rewrite M0, Q0. unfold bernoulli_kl, kl.
  rewrite (sum_ext ys _ (fun y => one (v y) * (q y * (ln (q y) - ln (a y))) +
    one (negb (v y)) * (q y * (ln (q y) - ln (a y))))).
  - rewrite sum_plus. ring.
  - intros y _. destruct (v y); simpl; ring.
Qed.
Theorem equality {Y} : forall (ys : list Y) policy base valid, law ys policy -> law ys base -> positive ys base ->
  0 < mass ys base valid < 1 ->
  kl ys policy base = bernoulli_kl (mass ys policy valid) (mass ys base valid)
    + kl ys policy (mixture ys base valid (mass ys policy valid)) /\
  (0 < mass ys policy valid < 1 -> mass ys policy valid <> mass ys base valid -> forall y, In y ys ->
    mixture ys base valid (mass ys policy valid) y =
    tilted ys base valid (1 / (logit (mass ys policy valid) - logit (mass ys base valid))) y).
Proof.
  intros ys q a v Lq La Pa M. split.
  2: { intros B N y I. rewrite mixture_of_tilted by auto. f_equal. set (mu := mass ys q v) in *. set (m := mass ys a v) in *.
    assert (D : logit mu - logit m <> 0).
    { intro D. apply N. rewrite <- (expit_of_logit mu B), <- (expit_of_logit m M). f_equal. lra. }
    replace (logit m + 1 / (1 / (logit mu - logit m))) with (logit mu) by (field; auto). symmetry. apply expit_of_logit, B. }
  set (mu := mass ys q v). set (m := mass ys a v).
  assert (B := mass_bounds ys q v Lq). fold mu in B. assert (T : forall y, In y ys -> q y * ln (mixture ys a v mu y) =
    q y * (ln (a y) + (if v y then ln mu - ln m else ln (1 - mu) - ln (1 - m)))).
  { intros y I. destruct (proj1 Lq y I) as [H|<-]; [|ring]. f_equal. assert (A := Pa y I).
    assert (N1 := within_mass ys q v y Lq I). assert (N0 := within_mass ys q (fun z => negb (v z)) y Lq I).
    rewrite mass_negb, (proj2 Lq) in N0. fold mu in N1, N0.
    unfold mixture, filtered. rewrite mass_negb, (proj2 La). fold m. destruct (v y); simpl in *; [specialize (N1 eq_refl)|specialize (N0 eq_refl)].
    - replace (mu * (1 * a y / m) + (1 - mu) * (0 * a y / (1 - m))) with (a y * (mu / m)) by (field; unfold m; lra).
      rewrite ln_mult, ln_quotient; try lra; [unfold m; lra|apply Rdiv_lt_0_compat; unfold m; lra].
    - replace (mu * (0 * a y / m) + (1 - mu) * (1 * a y / (1 - m))) with (a y * ((1 - mu) / (1 - m))) by (field; unfold m; lra).
      rewrite ln_mult, ln_quotient; try lra; [unfold m; lra|apply Rdiv_lt_0_compat; unfold m; lra]. }
  assert (S := sum_of_verdicts ys q v (ln mu - ln m) (ln (1 - mu) - ln (1 - m))). rewrite (proj2 Lq) in S. fold mu in S.
  unfold bernoulli_kl, kl. rewrite <- S, <- sum_plus. apply sum_ext. intros y I.
  rewrite !Rmult_minus_distr_l, (T y I). destruct (v y); ring.
Qed.
Lemma mixture_law {Y} : forall (ys : list Y) a v mu, law ys a -> 0 < mass ys a v < 1 -> 0 <= mu <= 1 ->
  law ys (mixture ys a v mu).
Proof.
  intros ys a v mu La M B. assert (L1 := filtered_law ys a v La (proj1 M)).
  assert (L0 := filtered_law ys a (fun z => negb (v z)) La ltac:(rewrite mass_negb, (proj2 La); lra)). split.
  - intros y I. unfold mixture. assert (P := proj1 L1 y I). assert (Q := proj1 L0 y I).
    apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra.
  - unfold mixture. rewrite sum_plus, !sum_scale, (proj2 L1), (proj2 L0). ring.
Qed.
Lemma mixture_covers {Y} : forall (ys : list Y) q a v, law ys q -> law ys a -> positive ys a -> 0 < mass ys a v < 1 ->
  covers ys (mixture ys a v (mass ys q v)) q.
Proof.
  intros ys q a v Lq La Pa M y I H. assert (B := mass_bounds ys q v Lq).
  assert (N0 := mass_negb ys q v). assert (A0 := mass_negb ys a v). rewrite (proj2 Lq) in N0. rewrite (proj2 La) in A0.
  unfold mixture, filtered. rewrite A0. assert (A := Pa y I). destruct (v y) eqn:E; simpl.
  - assert (W := within_mass ys q v y Lq I E).
    replace (mass ys q v * (1 * a y / mass ys a v) + (1 - mass ys q v) * (0 * a y / (1 - mass ys a v)))
      with (mass ys q v * a y / mass ys a v) by (field; lra). apply Rdiv_lt_0_compat; nra.
  - assert (W := within_mass ys q (fun z => negb (v z)) y Lq I ltac:(cbv beta; rewrite E; reflexivity)). rewrite N0 in W.
    replace (mass ys q v * (0 * a y / mass ys a v) + (1 - mass ys q v) * (1 * a y / (1 - mass ys a v)))
      with ((1 - mass ys q v) * a y / (1 - mass ys a v)) by (field; lra). apply Rdiv_lt_0_compat; nra.
Qed.
Theorem frontier {Y} : forall (ys : list Y) policy base valid, law ys policy -> law ys base -> positive ys base ->
  0 < mass ys base valid < 1 ->
  bernoulli_kl (mass ys policy valid) (mass ys base valid) <= kl ys policy base /\
  (kl ys policy base = bernoulli_kl (mass ys policy valid) (mass ys base valid) <->
    forall y, In y ys -> policy y = mixture ys base valid (mass ys policy valid) y).
Proof.
  intros ys q a v Lq La Pa M. destruct (equality ys q a v Lq La Pa M) as [E _].
  destruct (kl_nonneg ys q (mixture ys a v (mass ys q v)) Lq) as [P Q].
  - apply mixture_law; auto. apply mass_bounds, Lq.
  - apply mixture_covers; auto.
  - split; [lra|]. rewrite <- Q. split; lra.
Qed.
(* Each prompt's validity rises with 1/beta, so their mean does. *)
Theorem mean_rises {X} : forall (xs : list X) base_rates gain more, xs <> [] ->
  (forall x, In x xs -> 0 < base_rates x < 1) -> gain < more ->
  sum xs (fun x => expit (logit (base_rates x) + gain)) / INR (length xs) <
  sum xs (fun x => expit (logit (base_rates x) + more)) / INR (length xs).
Proof.
  intros xs r g h N _ L. assert (E : forall x, expit (logit (r x) + g) < expit (logit (r x) + h)).
  { intro x. unfold expit, Rdiv. rewrite !Rmult_1_l. assert (P := exp_pos (- (logit (r x) + h))).
    assert (Q : exp (- (logit (r x) + h)) < exp (- (logit (r x) + g))) by (apply exp_increasing; lra).
    apply Rinv_lt_contravar; [apply Rmult_lt_0_compat|]; lra. }
  destruct xs as [|x xs]; [contradiction|]. unfold Rdiv. apply Rmult_lt_compat_r.
  - apply Rinv_0_lt_compat, lt_0_INR. simpl. apply Nat.lt_0_succ.
  - simpl. assert (S : sum xs (fun x => expit (logit (r x) + g)) <= sum xs (fun x => expit (logit (r x) + h)))
      by (apply sum_le; intros z _; left; apply E). assert (T := E x). lra.
Qed.
