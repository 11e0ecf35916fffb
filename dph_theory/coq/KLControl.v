(* Binary rewards: filtered and tilted models, KL control, the frontier, on any outcomes. *)
Require Import Reals List Lra. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Pinsker.
Import ListNotations. Open Scope R_scope.
Definition one (b : bool) : R := if b then 1 else 0.
Definition mass {Y : Type} (ys : list Y) (q : Y -> R) (v : Y -> bool) : R := sum ys (fun y => one (v y) * q y).
Definition logit (m : R) : R := ln m - ln (1 - m).
Definition expit (x : R) : R := 1 / (1 + exp (- x)).
Definition bernoulli_kl (m r : R) : R := m * (ln m - ln r) + (1 - m) * (ln (1 - m) - ln (1 - r)).

Definition filtered {Y : Type} (ys : list Y) (a : Y -> R) (v : Y -> bool) (y : Y) : R := one (v y) * a y / mass ys a v.
Definition tilted {Y : Type} (ys : list Y) (a : Y -> R) (v : Y -> bool) (beta : R) (y : Y) : R :=
  a y * exp (one (v y) / beta) / sum ys (fun z => a z * exp (one (v z) / beta)).
Definition normaliser (base_rate beta : R) : R := (1 - base_rate) + base_rate * exp (1 / beta).
(* mu p_* + (1 - mu) p_0 *)
Definition mixture {Y : Type} (ys : list Y) (a : Y -> R) (v : Y -> bool) (mu : R) (y : Y) : R :=
  mu * filtered ys a v y + (1 - mu) * filtered ys a (fun z => negb (v z)) y.
Lemma mass_negb {Y} : forall (ys : list Y) q v, mass ys q (fun y => negb (v y)) = sum ys q - mass ys q v.
Proof. intros. unfold mass. rewrite <- sum_minus. apply sum_ext. intros y _. destruct (v y); simpl; ring. Qed.
Lemma mass_weights {Y} : forall (ys : list Y) q v, law ys q -> weights ys (fun y => one (v y) * q y).
Proof. intros ys q v [W _] y I. assert (Q := W y I). unfold one. destruct (v y); lra. Qed.
Lemma mass_bounds {Y} : forall (ys : list Y) q v, law ys q -> 0 <= mass ys q v <= 1.
Proof.
  intros ys q v L. assert (P : forall u, 0 <= mass ys q u) by (intro u; apply sum_nonneg, mass_weights, L).
  assert (N := P (fun y => negb (v y))). rewrite mass_negb, (proj2 L) in N. split; [apply P|lra].
Qed.
(* A law of mass 1 on Y1 has no mass elsewhere. *)
Lemma valid_support {Y} : forall (ys : list Y) q v, law ys q -> mass ys q v = 1 ->
  forall y, In y ys -> v y = false -> q y = 0.
Proof.
  intros ys q v L M y I F. assert (N := mass_negb ys q v). rewrite (proj2 L), M in N.
  assert (K := sum_zero_each ys _ (mass_weights ys q (fun y => negb (v y)) L) ltac:(unfold mass in N; lra) y I).
  simpl in K. rewrite F in K. simpl in K. lra.
Qed.
Lemma sum_of_verdicts {Y} : forall (ys : list Y) q (v : Y -> bool) x z,
  sum ys (fun y => q y * (if v y then x else z)) = mass ys q v * x + (sum ys q - mass ys q v) * z.
Proof.
  intros. rewrite (sum_ext ys _ (fun y => z * q y + (x - z) * (one (v y) * q y))).
  - rewrite sum_plus, !sum_scale. unfold mass. ring.
  - intros y _. destruct (v y); simpl; ring.
Qed.
Lemma tilted_sum {Y} : forall (ys : list Y) a v beta, law ys a ->
  sum ys (fun z => a z * exp (one (v z) / beta)) = normaliser (mass ys a v) beta.
Proof.
  intros ys a v beta [_ S]. rewrite (sum_ext ys _ (fun y => a y * (if v y then exp (1 / beta) else 1))).
  - rewrite sum_of_verdicts, S. unfold normaliser. ring.
  - intros y _. destruct (v y); simpl; [reflexivity|]. unfold Rdiv. rewrite Rmult_0_l, exp_0. reflexivity.
Qed.
Lemma normaliser_positive : forall m beta, 0 <= m <= 1 -> 0 < normaliser m beta.
Proof. intros m beta H. unfold normaliser. assert (E := exp_pos (1 / beta)). destruct (Req_dec m 0); nra. Qed.
Lemma tilted_is {Y} : forall (ys : list Y) a v beta y, law ys a ->
  tilted ys a v beta y = a y * (if v y then exp (1 / beta) else 1) / normaliser (mass ys a v) beta.
Proof.
  intros ys a v beta y L. unfold tilted. rewrite tilted_sum by exact L. destruct (v y); simpl; [reflexivity|].
  unfold Rdiv at 2. rewrite Rmult_0_l, exp_0. reflexivity.
Qed.
Lemma tilted_law {Y} : forall (ys : list Y) a v beta, law ys a -> positive ys a ->
  law ys (tilted ys a v beta) /\ positive ys (tilted ys a v beta).
Proof.
  intros ys a v beta L P. assert (Z := normaliser_positive _ beta (mass_bounds ys a v L)).
  assert (Q : positive ys (tilted ys a v beta)).
  { intros y I. unfold tilted. rewrite tilted_sum by exact L. apply Rdiv_lt_0_compat; [|exact Z].
    apply Rmult_lt_0_compat; [apply P, I|apply exp_pos]. }
  repeat split; auto; [intros y I; apply Rlt_le, Q, I|].
  unfold tilted, Rdiv. rewrite (sum_ext ys _ (fun y => / sum ys (fun z => a z * exp (one (v z) * / beta)) *
    (a y * exp (one (v y) * / beta)))) by (intros; ring).
  rewrite sum_scale. fold (Rdiv 1 1). change (fun z => a z * exp (one (v z) * / beta)) with (fun z => a z * exp (one (v z) / beta)).
  rewrite tilted_sum by exact L. field. lra.
Qed.
Theorem degeneracy {Y} : forall (ys : list Y) policy other valid, law ys policy -> law ys other ->
  mass ys other valid = 1 -> 1 - mass ys policy valid <= tv ys policy other.
Proof.
  intros ys q p v [Wq Sq] Lp M. assert (Z := valid_support ys p v Lp M). destruct Lp as [Wp Sp].
  unfold tv. apply Rmult_le_reg_l with 2; [lra|].
  replace (2 * (sum ys (fun y => Rabs (q y - p y)) / 2)) with (sum ys (fun y => Rabs (q y - p y))) by lra.
  replace (2 * (1 - mass ys q v)) with (sum ys (fun y => 2 * (one (negb (v y)) * q y) - (q y - p y))).
  - apply sum_le. intros y I. destruct (v y) eqn:E; simpl.
    + assert (A := Rle_abs (- (q y - p y))). rewrite Rabs_Ropp in A. lra.
    + rewrite (Z y I E). assert (Q := Wq y I). rewrite Rabs_right; lra.
  - rewrite sum_minus, sum_minus, sum_scale, Sq, Sp. fold (mass ys q (fun y => negb (v y))).
    rewrite mass_negb, Sq. lra.
Qed.
Theorem degeneracy_attained {Y} : forall (ys : list Y) policy share valid, law ys policy -> law ys share ->
  mass ys share valid = 1 ->
  1 - mass ys policy valid =
  tv ys policy (fun y => one (valid y) * policy y + mass ys policy (fun z => negb (valid z)) * share y).
Proof.
  intros ys q w v Lq Lw M. assert (Z := valid_support ys w v Lw M). assert (M0 := mass_negb ys q v).
  assert (P := sum_nonneg ys _ (mass_weights ys q (fun y => negb (v y)) Lq)). destruct Lq as [Wq Sq], Lw as [Ww Sw].
  rewrite Sq in M0. set (m := mass ys q (fun z => negb (v z))) in *. change (0 <= m) in P.
  unfold tv. rewrite (sum_ext ys _ (fun y => one (negb (v y)) * q y + m * w y)).
  - rewrite sum_plus, sum_scale, Sw. fold (mass ys q (fun y => negb (v y))). fold m. lra.
  - intros y I. assert (Q := Wq y I). assert (V := Ww y I). destruct (v y) eqn:E; simpl.
    + rewrite Rabs_left1; [ring|]. assert (0 <= m * w y) by (apply Rmult_le_pos; lra). lra.
    + rewrite (Z y I E). rewrite Rabs_right; lra.
Qed.
Lemma kl_to_tilted {Y} : forall (ys : list Y) q a v beta, law ys q -> law ys a -> positive ys a ->
  kl ys q (tilted ys a v beta) = kl ys q a - mass ys q v / beta + ln (normaliser (mass ys a v) beta).
Proof.
  intros ys q a v beta [_ Sq] La Pa. assert (Z := normaliser_positive _ beta (mass_bounds ys a v La)).
  unfold kl, mass at 1. rewrite <- (Rmult_1_r (ln _)), <- Sq, <- sum_scale. unfold Rdiv.
  rewrite Rmult_comm, <- sum_scale, <- sum_minus, <- sum_plus.
  apply sum_ext. intros y I. unfold tilted. rewrite tilted_sum by exact La. assert (A := Pa y I).
  rewrite ln_quotient, ln_mult, ln_exp; try (apply Rmult_lt_0_compat); try apply exp_pos; auto. unfold Rdiv. ring.
Qed.
Theorem control_identity {Y} : forall (ys : list Y) policy base valid beta, law ys policy -> law ys base ->
  positive ys base -> 0 < beta ->
  mass ys policy valid + beta * kl ys policy (tilted ys base valid beta) =
  beta * ln (normaliser (mass ys base valid) beta) + beta * kl ys policy base.
Proof. intros. rewrite kl_to_tilted by auto. field. lra. Qed.
Theorem control_unique {Y} : forall (ys : list Y) policy base valid beta, law ys policy -> law ys base ->
  positive ys base -> 0 < beta ->
  2 * tv ys policy (tilted ys base valid beta) ^ 2 <=
    ln (normaliser (mass ys base valid) beta) - mass ys policy valid / beta + kl ys policy base /\
  (mass ys policy valid - beta * kl ys policy base = beta * ln (normaliser (mass ys base valid) beta) <->
    forall y, In y ys -> policy y = tilted ys base valid beta y).
Proof.
  intros ys q a v beta Lq La Pa Hb. destruct (tilted_law ys a v beta La Pa) as [Lt Pt].
  assert (K := kl_to_tilted ys q a v beta Lq La Pa).
  assert (C : covers ys (tilted ys a v beta) q) by (intros y I _; apply Pt, I).
  assert (P := pinsker ys q _ Lq Lt C). destruct (kl_nonneg ys q _ Lq Lt C) as [_ E]. split; [lra|].
  rewrite <- E, K. set (M := mass ys q v) in *. set (D := kl ys q a). set (Z := ln _).
  assert (F : M / beta * beta = M) by (field; lra). split; intro H; [|nra].
  assert (G : beta * (D - M / beta + Z) = 0) by lra. apply Rmult_integral in G. lra.
Qed.
Lemma expit_logit_plus : forall m x, 0 < m < 1 -> expit (logit m + x) = m * exp x / ((1 - m) + m * exp x).
Proof.
  intros m x H. unfold expit, logit. assert (E := exp_pos x).
  replace (- (ln m - ln (1 - m) + x)) with (ln (1 - m) + - ln m + - x) by ring.
  rewrite !exp_plus, !exp_Ropp, !exp_ln by lra. field. repeat split; nra.
Qed.
Lemma mass_tilted {Y} : forall (ys : list Y) a v beta, law ys a ->
  mass ys (tilted ys a v beta) v = mass ys a v * exp (1 / beta) / normaliser (mass ys a v) beta.
Proof.
  intros ys a v beta L. set (Z := normaliser _ _). unfold mass at 1, Rdiv.
  rewrite Rmult_comm, (Rmult_comm (mass ys a v)), <- Rmult_assoc. unfold mass. rewrite <- sum_scale.
  apply sum_ext. intros y _. rewrite tilted_is by exact L. fold Z. unfold Rdiv. destruct (v y); simpl; ring.
Qed.
Theorem validity {Y} : forall (ys : list Y) base valid beta, law ys base -> 0 < mass ys base valid < 1 -> 0 < beta ->
  mass ys (tilted ys base valid beta) valid = expit (logit (mass ys base valid) + 1 / beta).
Proof. intros. rewrite mass_tilted, expit_logit_plus by auto. reflexivity. Qed.
Theorem mixture_of_tilted {Y} : forall (ys : list Y) base valid beta, law ys base -> 0 < mass ys base valid < 1 ->
  forall y, In y ys -> tilted ys base valid beta y = mixture ys base valid (expit (logit (mass ys base valid) + 1 / beta)) y.
Proof.
  intros ys a v beta L M y I. rewrite tilted_is, expit_logit_plus by auto.
  unfold mixture, filtered, normaliser. rewrite mass_negb. destruct L as [_ S]. rewrite S.
  assert (E := exp_pos (1 / beta)). destruct (v y); simpl; field; repeat split; nra.
Qed.
Theorem cost {Y} : forall (ys : list Y) base valid beta, law ys base -> positive ys base ->
  0 < mass ys base valid < 1 -> 0 < beta ->
  kl ys (tilted ys base valid beta) base =
  bernoulli_kl (expit (logit (mass ys base valid) + 1 / beta)) (mass ys base valid).
Proof.
  intros ys a v beta La Pa M Hb. destruct (tilted_law ys a v beta La Pa) as [Lt Pt].
  assert (K := kl_to_tilted ys _ a v beta Lt La Pa). destruct (kl_nonneg ys _ _ Lt Lt (fun y _ H => H)) as [_ E].
  rewrite (proj2 E) in K by auto. rewrite (validity ys a v beta La M Hb) in K.
  set (m := mass ys a v) in *. set (mu := expit _) in *.
  assert (Z := normaliser_positive m beta ltac:(lra)). assert (X := exp_pos (1 / beta)).
  assert (F : mu = m * exp (1 / beta) / normaliser m beta) by (apply expit_logit_plus; auto).
  assert (G : 1 - mu = (1 - m) / normaliser m beta) by (rewrite F; unfold normaliser in *; field; lra).
  unfold bernoulli_kl. rewrite G. rewrite F at 2.
  rewrite !ln_quotient, ln_mult, ln_exp by (try apply Rmult_lt_0_compat; lra).
  replace ((1 - m) / normaliser m beta) with (1 - mu) by exact G. lra.
Qed.
(* Whatever the validity, kl(m||A1) less the line at c is kl(m||c). *)
Lemma kappa_line : forall m c r, bernoulli_kl m r = bernoulli_kl c r + (m - c) * (logit c - logit r) + bernoulli_kl m c.
Proof. intros. unfold bernoulli_kl, logit. ring. Qed.
Definition two : list bool := [true; false].
Definition coin (m : R) (b : bool) : R := if b then m else 1 - m.
Lemma bernoulli_kl_is : forall m r, bernoulli_kl m r = kl two (coin m) (coin r).
Proof. intros. unfold bernoulli_kl, kl. simpl. ring. Qed.
Lemma coin_law : forall m, 0 <= m <= 1 -> law two (coin m).
Proof. intros m H. split; [intros [] _; simpl; lra|simpl; ring]. Qed.
Lemma bernoulli_kl_nonneg : forall m r, 0 <= m <= 1 -> 0 < r < 1 ->
  0 <= bernoulli_kl m r /\ (bernoulli_kl m r = 0 -> m = r).
Proof.
  intros m r Hm Hr. rewrite bernoulli_kl_is.
  destruct (kl_nonneg two (coin m) (coin r)) as [P E]; try (apply coin_law; lra).
  { intros [] _ _; simpl; lra. }
  split; [exact P|]. intro Z. exact (proj1 E Z true (or_introl eq_refl)).
Qed.
Lemma expit_bounds : forall x, 0 < expit x < 1.
Proof.
  intro x. unfold expit. assert (E := exp_pos (- x)). split; [apply Rdiv_lt_0_compat; lra|].
  apply Rmult_lt_reg_r with (1 + exp (- x)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.
Lemma logit_expit : forall x, logit (expit x) = x.
Proof.
  intro x. unfold logit, expit. assert (E := exp_pos (- x)).
  replace (1 - 1 / (1 + exp (- x))) with (exp (- x) / (1 + exp (- x))) by (field; lra).
  rewrite !ln_quotient, ln_1, ln_exp by lra. ring.
Qed.
Lemma expit_of_logit : forall m, 0 < m < 1 -> expit (logit m) = m.
Proof.
  intros m H. assert (E := expit_logit_plus m 0 H). rewrite Rplus_0_r, exp_0 in E. rewrite E.
  replace ((1 - m) + m * 1) with 1 by ring. field.
Qed.
Theorem slope : forall base_rate beta mu, 0 < base_rate < 1 -> 0 < beta -> 0 <= mu <= 1 ->
  bernoulli_kl (expit (logit base_rate + 1 / beta)) base_rate + (mu - expit (logit base_rate + 1 / beta)) / beta
    <= bernoulli_kl mu base_rate /\
  is_derive (fun m => bernoulli_kl m base_rate) (expit (logit base_rate + 1 / beta)) (1 / beta).
Proof.
  intros r beta mu Hr Hb Hm. set (c := expit (logit r + 1 / beta)).
  assert (C : 0 < c < 1) by apply expit_bounds. assert (L : logit c - logit r = 1 / beta).
  { unfold c. rewrite logit_expit. ring. }
  split.
  - rewrite (kappa_line mu c r), L. destruct (bernoulli_kl_nonneg mu c Hm C) as [P _]. unfold Rdiv in *. lra.
  - rewrite <- L. clearbody c. unfold bernoulli_kl, logit. auto_derive; [repeat split; lra|].
    replace (1 + - c) with (1 - c) by ring. field. lra.
Qed.
Theorem inverse {Y} : forall (ys : list Y) base valid mu, law ys base -> positive ys base ->
  0 < mass ys base valid < mu -> mu < 1 ->
  mass ys (tilted ys base valid (1 / (logit mu - logit (mass ys base valid)))) valid = mu /\
  0 < 1 / (logit mu - logit (mass ys base valid)).
Proof.
  intros ys a v mu La Pa M U. set (m := mass ys a v) in *. assert (G : 0 < logit mu - logit m).
  { unfold logit. assert (ln m < ln mu) by (apply ln_increasing; lra).
    assert (ln (1 - mu) < ln (1 - m)) by (apply ln_increasing; lra). lra. }
  assert (B : 0 < 1 / (logit mu - logit m)) by (apply Rdiv_lt_0_compat; lra). split; [|exact B].
  rewrite validity; auto; fold m; [|lra].
  replace (logit m + 1 / (1 / (logit mu - logit m))) with (logit mu) by (field; lra). apply expit_of_logit. lra.
Qed.
Theorem control_value {Y} : forall (ys : list Y) base valid beta, law ys base -> positive ys base ->
  0 < mass ys base valid < 1 -> 0 < beta ->
  mass ys (tilted ys base valid beta) valid - beta * kl ys (tilted ys base valid beta) base =
    beta * ln (normaliser (mass ys base valid) beta) /\
  expit (logit (mass ys base valid) + 1 / beta)
    - beta * bernoulli_kl (expit (logit (mass ys base valid) + 1 / beta)) (mass ys base valid) =
    beta * ln (normaliser (mass ys base valid) beta) /\
  (forall q, law ys q -> mass ys q valid - beta * kl ys q base <= beta * ln (normaliser (mass ys base valid) beta)).
Proof.
  intros ys a v beta La Pa M Hb. destruct (tilted_law ys a v beta La Pa) as [Lt Pt].
  assert (V : mass ys (tilted ys a v beta) v - beta * kl ys (tilted ys a v beta) a =
    beta * ln (normaliser (mass ys a v) beta)) by (apply control_unique; auto).
  split; [exact V|]. split; [rewrite (validity ys a v beta), (cost ys a v beta) in V by auto; exact V|].
  intros q Lq. assert (I := control_identity ys q a v beta Lq La Pa Hb).
  destruct (kl_nonneg ys q _ Lq Lt (fun y J _ => Pt y J)) as [P _].
  assert (0 <= beta * kl ys q (tilted ys a v beta)) by (apply Rmult_le_pos; lra). lra.
Qed.
