(* GRPO in exact rounds with a fixed reference (A11): the recursion of the log odds and its fixed points. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Pinsker KLControl Frontier Updates.
Import ListNotations. Open Scope R_scope.

Definition spread (p : R) : R := sqrt (p * (1 - p)).
Lemma spread_positive : forall p, 0 < p < 1 -> 0 < spread p.
Proof. intros p H. apply sqrt_lt_R0. nra. Qed.
(* A11.recursion: the best policy for the advantage (v - p)/scale, p and scale those of the round's policy or any. *)
Theorem round_is {Y} : forall (ys : list Y) base valid beta p scale, law ys base -> positive ys base ->
  0 < mass ys base valid < 1 -> 0 < beta -> 0 < scale ->
  let advantage := fun y => (one (valid y) - p) / scale in let next := tilted_by ys base advantage beta in
  mass ys next valid = expit (logit (mass ys base valid) + 1 / (beta * scale)) /\
  (forall q, law ys q -> sum ys (fun y => q y * advantage y) - beta * kl ys q base <=
    sum ys (fun y => next y * advantage y) - beta * kl ys next base) /\
  (forall q, law ys q -> sum ys (fun y => q y * advantage y) - beta * kl ys q base =
    sum ys (fun y => next y * advantage y) - beta * kl ys next base -> forall y, In y ys -> q y = next y).
Proof.
  intros ys a v b p s L P M B S A next. assert (C : 0 < b * s) by (apply Rmult_lt_0_compat; auto).
  assert (E : forall y, In y ys -> next y = tilted ys a v (b * s) y).
  { intros y I. assert (T := errors_scale_beta ys a v b (- p / s) (1 + p / s - 1 / s) L P B).
    replace (1 - - p / s - (1 + p / s - 1 / s)) with (1 / s) in T by (field; lra).
    replace (b / (1 / s)) with (b * s) in T by (field; lra). rewrite <- T; auto; [|apply Rdiv_lt_0_compat; lra].
    unfold next, tilted_by, A. assert (F : forall z, (one (v z) - p) / s / b = (- p / s + 1 / s * one (v z)) / b) by (intro; field; lra).
    rewrite F. f_equal. apply sum_ext. intros z _. rewrite F. reflexivity. }
  assert (V : forall f, (forall y, In y ys -> f y = tilted ys a v (b * s) y) -> mass ys f v = mass ys (tilted ys a v (b * s)) v /\
    kl ys f a = kl ys (tilted ys a v (b * s)) a).
  { intros f H. split; apply sum_ext; intros y I; rewrite (H y I); reflexivity. }
  destruct (V next E) as [Vn Kn]. assert (G : forall q, sum ys q = 1 -> sum ys (fun y => q y * A y) = (mass ys q v - p) / s).
  { intros q Q. rewrite (sum_ext ys _ (fun y => / s * (one (v y) * q y) - p / s * q y)) by (intros; unfold A; field; lra).
    rewrite sum_minus, !sum_scale, Q. fold (mass ys q v). field. lra. }
  destruct (tilted_law ys a v (b * s) L P) as [Lt _]. assert (Sn : sum ys next = 1) by (rewrite (sum_ext ys _ _ E); apply Lt).
  assert (O := control_value ys a v (b * s) L P M C). destruct O as (O1 & _ & O2).
  assert (R : forall x, (x - p) / s = x / s - p / s) by (intro; field; lra).
  assert (D : forall m k, m / s - b * k = (m - b * s * k) / s) by (intros; field; lra).
  split; [rewrite Vn; apply validity; auto|]. split.
  - intros q Q. rewrite (G next Sn), (G q (proj2 Q)), Vn, Kn, !R. specialize (O2 q Q). rewrite <- O1 in O2.
    apply Rle_trans with (mass ys q v / s - b * kl ys q a - p / s); [lra|]. rewrite D.
    apply Rle_trans with (mass ys (tilted ys a v (b * s)) v / s - b * kl ys (tilted ys a v (b * s)) a - p / s); [|lra]. rewrite D.
    apply Rplus_le_compat_r. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, S|exact O2].
  - intros q Q H y I. rewrite (E y I). apply (control_unique ys q a v (b * s) Q L P C); auto. rewrite <- O1.
    rewrite (G next Sn), (G q (proj2 Q)), Vn, Kn, !R in H.
    assert (X : (mass ys q v - b * s * kl ys q a) / s = (mass ys (tilted ys a v (b * s)) v - b * s * kl ys (tilted ys a v (b * s)) a) / s)
      by (rewrite <- !D; lra).
    apply (f_equal (Rmult s)) in X. field_simplify in X; lra.
Qed.
(* A11.interior *)
Definition fixing (base_rate p : R) : R := 1 / ((logit p - logit base_rate) * spread p).
Lemma logit_lt : forall r p, 0 < r < p -> p < 1 -> logit r < logit p.
Proof. intros r p H U. unfold logit. assert (A := ln_increasing r p ltac:(lra) ltac:(lra)).
  assert (B := ln_increasing (1 - p) (1 - r) ltac:(lra) ltac:(lra)). lra. Qed.
Theorem interior_points : forall base_rate p, 0 < base_rate < p -> p < 1 ->
  expit (logit base_rate + 1 / (fixing base_rate p * spread p)) = p /\ 0 < fixing base_rate p /\
  forall beta, 0 < beta -> expit (logit base_rate + 1 / (beta * spread p)) = p -> beta = fixing base_rate p.
Proof.
  intros r p H U. assert (S := spread_positive p ltac:(lra)). assert (L := logit_lt r p H U).
  assert (N : 0 < (logit p - logit r) * spread p) by (apply Rmult_lt_0_compat; lra). split; [|split].
  - unfold fixing. replace (logit r + _) with (logit p) by (field; lra). apply expit_of_logit; lra.
  - apply Rdiv_lt_0_compat; lra.
  - intros b B E. apply (f_equal logit) in E. rewrite logit_expit in E. unfold fixing. rewrite <- E. field. lra.
Qed.
(* One round, in log odds: 1/spread = e^(l/2) + e^(-l/2). *)
Definition next_log_odds (start beta l : R) : R := start + (exp (l / 2) + exp (- (l / 2))) / beta.
Lemma spread_is : forall p, 0 < p < 1 -> / spread p = exp (logit p / 2) + exp (- (logit p / 2)).
Proof.
  intros p H. assert (S := spread_positive p H). assert (E : forall x, 0 < x -> exp (ln x / 2) = sqrt x).
  { intros x X. symmetry. apply sqrt_lem_1; [lra|apply Rlt_le, exp_pos|]. rewrite <- exp_plus. replace (ln x / 2 + ln x / 2) with (ln x) by field. apply exp_ln, X. }
  assert (A := sqrt_lt_R0 p ltac:(lra)). assert (B := sqrt_lt_R0 (1 - p) ltac:(lra)).
  assert (Qa := sqrt_def p ltac:(lra)). assert (Qb := sqrt_def (1 - p) ltac:(lra)).
  unfold logit. replace ((ln p - ln (1 - p)) / 2) with (ln p / 2 + - (ln (1 - p) / 2)) by field.
  rewrite exp_Ropp, exp_plus, exp_Ropp, !E by lra. unfold spread. rewrite sqrt_mult by lra.
  replace (sqrt p * / sqrt (1 - p) + / (sqrt p * / sqrt (1 - p))) with ((sqrt p * sqrt p + sqrt (1 - p) * sqrt (1 - p)) / (sqrt p * sqrt (1 - p))) by (field; lra).
  rewrite Qa, Qb. replace (p + (1 - p)) with 1 by ring. field. lra.
Qed.
Lemma next_is : forall r b p, 0 < p < 1 -> 0 < b -> logit r + 1 / (b * spread p) = next_log_odds (logit r) b (logit p).
Proof.
  intros r b p H B. assert (S := spread_positive p H). unfold next_log_odds. rewrite <- spread_is by exact H. field. lra.
Qed.
(* A11.unimodal *)
Definition level (base_rate p : R) : R := (logit p - logit base_rate) * spread p.
Lemma exp_between : forall t x z, 0 < t < 1 -> x <> z -> exp ((1 - t) * x + t * z) < (1 - t) * exp x + t * exp z.
Proof.
  intros t x z T N. set (m := (1 - t) * x + t * z). assert (E := exp_pos m).
  assert (A : exp x = exp m * exp (x - m)) by (rewrite <- exp_plus; f_equal; ring).
  assert (B : exp z = exp m * exp (z - m)) by (rewrite <- exp_plus; f_equal; ring).
  assert (C : x - m <> 0) by (unfold m; intro C; apply N; nra). assert (D := exp_ineq1 (x - m) C).
  assert (F := exp_ineq1_le (z - m)). rewrite A, B. assert (G : (1 - t) * (x - m) + t * (z - m) = 0) by (unfold m; ring).
  assert (1 < (1 - t) * exp (x - m) + t * exp (z - m)) by nra. nra.
Qed.
Theorem one_peak : forall base_rate p1 p2 p3, 0 < base_rate < p1 -> p1 < p2 < p3 -> p3 < 1 ->
  Rmin (level base_rate p1) (level base_rate p3) < level base_rate p2.
Proof.
  intros r p1 p2 p3 H1 H2 H3. assert (L1 := logit_lt r p1 H1 ltac:(lra)). assert (L2 := logit_lt p1 p2 ltac:(lra) ltac:(lra)).
  assert (L3 := logit_lt p2 p3 ltac:(lra) ltac:(lra)). set (m := Rmin (level r p1) (level r p3)).
  assert (W : forall p, 0 < p < 1 -> forall k, (k <= level r p <-> k * (exp (logit p / 2) + exp (- (logit p / 2))) <= logit p - logit r) /\
    (k < level r p <-> k * (exp (logit p / 2) + exp (- (logit p / 2))) < logit p - logit r)).
  { intros p H k. assert (S := spread_positive p H). rewrite <- spread_is by exact H. unfold level.
    assert (E : forall k, k * / spread p * spread p = k) by (intro; field; lra).
    split; split; intro X.
    - apply Rmult_le_reg_r with (spread p); [exact S|]. rewrite E. exact X.
    - rewrite <- (E k). apply Rmult_le_compat_r; lra.
    - apply Rmult_lt_reg_r with (spread p); [exact S|]. rewrite E. exact X.
    - rewrite <- (E k). apply Rmult_lt_compat_r; lra. }
  apply (W p2 ltac:(lra)). assert (A := proj1 (proj1 (W p1 ltac:(lra) m)) (Rmin_l _ _)).
  assert (B := proj1 (proj1 (W p3 ltac:(lra) m)) (Rmin_r _ _)). assert (M : 0 < m).
  { unfold m. apply Rmin_glb_lt; apply Rmult_lt_0_compat; try apply spread_positive; lra. }
  set (x := logit p1) in *. set (y := logit p2) in *. set (z := logit p3) in *. set (t := (y - x) / (z - x)).
  assert (T : 0 < t < 1) by (unfold t; split; [apply Rdiv_lt_0_compat; lra|apply Rmult_lt_reg_r with (z - x); [lra|unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra]]).
  assert (Y : y = (1 - t) * x + t * z) by (unfold t; field; lra).
  assert (C := exp_between t (x / 2) (z / 2) T ltac:(lra)). assert (D := exp_between t (- (x / 2)) (- (z / 2)) T ltac:(lra)).
  replace ((1 - t) * (x / 2) + t * (z / 2)) with (y / 2) in C by (rewrite Y; field).
  replace ((1 - t) * - (x / 2) + t * - (z / 2)) with (- (y / 2)) in D by (rewrite Y; field).
  apply (Rmult_le_compat_l (1 - t)) in A; [|lra]. apply (Rmult_le_compat_l t) in B; [|lra].
  apply (Rmult_lt_compat_l m) in C; [|exact M]. apply (Rmult_lt_compat_l m) in D; [|exact M]. lra.
Qed.
(* A11.monotone *)
Fixpoint rounds (start beta : R) (n : nat) : R := match n with O => start | S k => next_log_odds start beta (rounds start beta k) end.
Lemma cosh_rises : forall x y, 0 <= x < y -> exp x + exp (- x) < exp y + exp (- y).
Proof.
  intros x y H. assert (A : exp x < exp y) by (apply exp_increasing; lra). rewrite !exp_Ropp. assert (P := exp_pos x).
  assert (1 <= exp x). { rewrite <- exp_0. destruct (proj1 H) as [Z| <-]; [left; apply exp_increasing, Z|right; reflexivity]. }
  replace (exp y + / exp y) with (exp x + / exp x + (exp y - exp x) * (1 - / exp x * / exp y)) by (field; lra).
  assert (/ exp x * / exp y < 1); [|nra]. rewrite <- Rinv_mult. rewrite <- Rinv_1. apply Rinv_lt_contravar; nra.
Qed.
