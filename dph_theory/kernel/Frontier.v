(* Limits, Pythagoras, the validity-KL frontier, many prompts (A6 to A9). *)
Require Import Reals List Lra.
From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Pinsker KLControl.
Import ListNotations.
Open Scope R_scope.

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

(* A law of mass 1 on Y1 has no mass elsewhere. *)
Lemma valid_support {Y} : forall (ys : list Y) q v, law ys q -> mass ys q v = 1 ->
  forall y, In y ys -> v y = false -> q y = 0.
Proof.
  intros ys q v [W S] M y I F. assert (N := mass_negb ys q v). rewrite S, M in N.
  assert (K : one (negb (v y)) * q y = 0); [|rewrite F in K; simpl in K; lra].
  apply (sum_zero_each ys (fun y => one (negb (v y)) * q y)); [|unfold mass in N; lra|exact I].
  intros z J. assert (Q := W z J). unfold one. destruct (negb (v z)); lra.
Qed.

(* A6 *)
Theorem pointwise {Y} : forall (ys : list Y) base valid beta, law ys base -> positive ys base ->
  0 < mass ys base valid < 1 -> 0 < beta -> forall y, In y ys ->
  Rabs (tilted ys base valid beta y - filtered ys base valid y) <=
  (1 - mass ys base valid) / mass ys base valid * exp (- (1 / beta)).
Proof.
  intros ys a v beta La Pa M Hb y I. rewrite mixture_of_tilted by auto.
  set (mu := expit _). assert (B : 0 < mu < 1) by apply expit_bounds. set (m := mass ys a v) in *.
  assert (E := exp_pos (- (1 / beta))).
  assert (N : 1 - mu <= (1 - m) / m * exp (- (1 / beta))).
  { unfold mu. rewrite expit_logit_plus by exact M. rewrite exp_Ropp. assert (X := exp_pos (1 / beta)).
    set (x := exp (1 / beta)) in *.
    replace (1 - m * x / (1 - m + m * x)) with ((1 - m) * / (1 - m + m * x)) by (field; nra).
    replace ((1 - m) / m * / x) with ((1 - m) * / (m * x)) by (field; lra).
    apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; nra. }
  assert (F : 0 <= filtered ys a v y <= 1).
  { assert (L := filtered_law ys a v La (proj1 M)). destruct L as [W S]. split; [apply W, I|].
    rewrite <- S. apply (term_le_sum ys (filtered ys a v)); auto. }
  assert (M0 : mass ys a (fun z => negb (v z)) = 1 - m) by (rewrite mass_negb; destruct La as [_ S]; rewrite S; auto).
  assert (G : 0 <= filtered ys a (fun z => negb (v z)) y <= 1).
  { assert (L := filtered_law ys a (fun z => negb (v z)) La ltac:(lra)). destruct L as [W S]. split; [apply W, I|].
    rewrite <- S. apply (term_le_sum ys (filtered ys a (fun z => negb (v z)))); auto. }
  apply Rle_trans with (1 - mu); [|exact N]. unfold mixture.
  replace (mu * filtered ys a v y + (1 - mu) * filtered ys a (fun z => negb (v z)) y - filtered ys a v y)
    with ((1 - mu) * (filtered ys a (fun z => negb (v z)) y - filtered ys a v y)) by ring.
  apply Rabs_le. split; nra.
Qed.

Theorem variation {Y} : forall (ys : list Y) base valid beta, law ys base -> positive ys base ->
  0 < mass ys base valid < 1 -> 0 < beta ->
  tv ys (tilted ys base valid beta) (filtered ys base valid) = 1 - expit (logit (mass ys base valid) + 1 / beta).
Proof.
  intros ys a v beta La Pa M Hb. set (mu := expit _). assert (B : 0 < mu < 1) by apply expit_bounds.
  assert (S := proj2 La). assert (M0 := mass_negb ys a v). rewrite S in M0.
  assert (L1 := filtered_law ys a v La (proj1 M)).
  assert (L0 := filtered_law ys a (fun z => negb (v z)) La ltac:(lra)).
  unfold tv. rewrite (sum_ext ys _ (fun y => (1 - mu) * (filtered ys a (fun z => negb (v z)) y + filtered ys a v y))).
  - rewrite sum_scale, sum_plus, (proj2 L1), (proj2 L0). field.
  - intros y I. rewrite mixture_of_tilted by auto. fold mu. unfold mixture.
    replace (mu * filtered ys a v y + (1 - mu) * filtered ys a (fun z => negb (v z)) y - filtered ys a v y)
      with ((1 - mu) * (filtered ys a (fun z => negb (v z)) y - filtered ys a v y)) by ring.
    rewrite Rabs_mult, (Rabs_right (1 - mu)) by lra. f_equal.
    assert (P := proj1 L1 y I). assert (Q := proj1 L0 y I).
    destruct (v y) eqn:E.
    + replace (filtered ys a (fun z => negb (v z)) y) with 0 in *; [|unfold filtered; rewrite E; simpl; unfold Rdiv; ring].
      rewrite Rabs_left1; lra.
    + replace (filtered ys a v y) with 0 in *; [|unfold filtered; rewrite E; simpl; unfold Rdiv; ring].
      rewrite Rabs_right; lra.
Qed.

(* A7: for q on Y1, and any base. *)
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

(* A8 *)
Definition inside {Y : Type} (ys : list Y) (q a : Y -> R) (v : Y -> bool) : R :=
  mass ys q v * kl ys (filtered ys q v) (filtered ys a v).

Lemma inside_is {Y} : forall (ys : list Y) q a v, law ys q -> positive ys a -> 0 < mass ys a v ->
  inside ys q a v = sum ys (fun y => one (v y) * (q y * (ln (q y) - ln (a y))))
    - mass ys q v * (ln (mass ys q v) - ln (mass ys a v)).
Proof.
  intros ys q a v [W S] P M. unfold inside.
  assert (N : weights ys (fun y => one (v y) * q y)).
  { intros y I. assert (Q := W y I). unfold one. destruct (v y); lra. }
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
    + kl ys policy (mixture ys base valid (mass ys policy valid)).
Proof.
  intros ys q a v Lq La Pa M. set (mu := mass ys q v). set (m := mass ys a v).
  assert (B := mass_bounds ys q v Lq). fold mu in B.
  assert (T : forall y, In y ys -> q y * ln (mixture ys a v mu y) =
    q y * (ln (a y) + (if v y then ln mu - ln m else ln (1 - mu) - ln (1 - m)))).
  { intros y I. destruct (proj1 Lq y I) as [H|<-]; [|ring]. f_equal. assert (A := Pa y I).
    assert (N : one (v y) * q y <= mu /\ one (negb (v y)) * q y <= 1 - mu).
    { unfold mu. replace (1 - mass ys q v) with (mass ys q (fun z => negb (v z))) by (rewrite mass_negb, (proj2 Lq); ring).
      split; [apply (term_le_sum ys (fun y => one (v y) * q y))|apply (term_le_sum ys (fun y => one (negb (v y)) * q y))];
        auto; intros z J; assert (Q := proj1 Lq z J); unfold one; [destruct (v z)|destruct (negb (v z))]; lra. }
    unfold mixture, filtered. rewrite mass_negb, (proj2 La). fold m. destruct (v y); simpl in *.
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
  - assert (q y <= mass ys q v).
    { replace (q y) with (one (v y) * q y) by (rewrite E; simpl; ring).
      apply (term_le_sum ys (fun y => one (v y) * q y)); auto.
      intros z J. assert (Q := proj1 Lq z J). unfold one. destruct (v z); lra. }
    replace (mass ys q v * (1 * a y / mass ys a v) + (1 - mass ys q v) * (0 * a y / (1 - mass ys a v)))
      with (mass ys q v * a y / mass ys a v) by (field; lra). apply Rdiv_lt_0_compat; nra.
  - assert (q y <= 1 - mass ys q v).
    { rewrite <- N0. replace (q y) with (one (negb (v y)) * q y) by (rewrite E; simpl; ring).
      apply (term_le_sum ys (fun y => one (negb (v y)) * q y)); auto.
      intros z J. assert (Q := proj1 Lq z J). unfold one. destruct (negb (v z)); lra. }
    replace (mass ys q v * (0 * a y / mass ys a v) + (1 - mass ys q v) * (1 * a y / (1 - mass ys a v)))
      with ((1 - mass ys q v) * a y / (1 - mass ys a v)) by (field; lra). apply Rdiv_lt_0_compat; nra.
Qed.

Theorem frontier {Y} : forall (ys : list Y) policy base valid, law ys policy -> law ys base -> positive ys base ->
  0 < mass ys base valid < 1 ->
  bernoulli_kl (mass ys policy valid) (mass ys base valid) <= kl ys policy base /\
  (kl ys policy base = bernoulli_kl (mass ys policy valid) (mass ys base valid) <->
    forall y, In y ys -> policy y = mixture ys base valid (mass ys policy valid) y).
Proof.
  intros ys q a v Lq La Pa M. assert (E := equality ys q a v Lq La Pa M).
  destruct (kl_nonneg ys q (mixture ys a v (mass ys q v)) Lq) as [P Q].
  - apply mixture_law; auto. apply mass_bounds, Lq.
  - apply mixture_covers; auto.
  - split; [lra|]. rewrite <- Q. split; lra.
Qed.
