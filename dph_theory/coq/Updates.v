(* Expected updates: what the KL estimators descend, baselines, per-answer weights, a verifier that
   errs. A policy is a softmax of logits th, moved along any direction d of the logits. *)
Require Import Reals List Lra. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Pinsker KLControl.
Import ListNotations. Open Scope R_scope.
Definition softmax {Y : Type} (ys : list Y) (th : Y -> R) (y : Y) : R := exp (th y) / sum ys (fun z => exp (th z)).
Definition moved {Y : Type} (ys : list Y) (th d : Y -> R) (t : R) : Y -> R := softmax ys (fun y => th y + t * d y).

(* With r = ref/pi. *)
Definition k1 (r : R) : R := - ln r.
Definition k2 (r : R) : R := (ln r) ^ 2 / 2.
Definition k3 (r : R) : R := r - 1 - ln r.
Lemma sum_derive {Y} : forall (ys : list Y) (F : R -> Y -> R) F' x,
  (forall y, In y ys -> is_derive (fun t => F t y) x (F' y)) ->
  is_derive (fun t => sum ys (F t)) x (sum ys F').
Proof.
  induction ys as [|y ys IH]; intros F F' x D; simpl; [apply (is_derive_const 0)|].
  apply (is_derive_plus (fun t => F t y) (fun t => sum ys (F t))); [apply D; simpl; auto|].
  apply IH. intros; apply D; simpl; auto.
Qed.
Lemma exp_sum_positive {Y} : forall (ys : list Y) th, ys <> [] -> 0 < sum ys (fun z => exp (th z)).
Proof.
  intros [|y ys] th N; [contradiction|]. simpl. assert (P := exp_pos (th y)).
  assert (0 <= sum ys (fun z => exp (th z))) by (apply sum_nonneg; intros z _; apply Rlt_le, exp_pos). lra.
Qed.
Lemma softmax_law {Y} : forall (ys : list Y) th, ys <> [] -> law ys (softmax ys th) /\ forall y, 0 < softmax ys th y.
Proof.
  intros ys th N. assert (P := exp_sum_positive ys th N).
  assert (Q : forall y, 0 < softmax ys th y) by (intro y; apply Rdiv_lt_0_compat; [apply exp_pos|exact P]).
  repeat split; auto; [intros y _; apply Rlt_le, Q|].
  unfold softmax, Rdiv. rewrite (sum_ext ys _ (fun y => / sum ys (fun z => exp (th z)) * exp (th y))) by (intros; ring).
  rewrite sum_scale. field. lra.
Qed.

Section Along.
Context {Y : Type}.
Lemma moved_0 : forall (ys : list Y) th d y, moved ys th d 0 y = softmax ys th y.
Proof. intros. unfold moved, softmax. f_equal; [f_equal; ring|apply sum_ext; intros; f_equal; ring]. Qed.
(* The score: the derivative of log pi(y), d(y) less its mean. *)
Definition score (ys : list Y) (th d : Y -> R) (y : Y) : R := d y - sum ys (fun z => softmax ys th z * d z).
Lemma mean_score : forall (ys : list Y) th d, ys <> [] -> sum ys (fun y => softmax ys th y * score ys th d y) = 0.
Proof.
  intros ys th d N. destruct (softmax_law ys th N) as [[_ S] _]. unfold score.
  set (m := sum ys (fun z => softmax ys th z * d z)).
  rewrite (sum_ext ys _ (fun y => softmax ys th y * d y - m * softmax ys th y)) by (intros; ring).
  rewrite sum_minus, sum_scale, S. fold m. ring.
Qed.
Lemma moved_derive : forall (ys : list Y) th d y, ys <> [] ->
  is_derive (fun t => moved ys th d t y) 0 (softmax ys th y * score ys th d y).
Proof.
  intros ys th d y N. assert (P := exp_sum_positive ys th N).
  assert (E : forall z, is_derive (fun t => exp (th z + t * d z)) 0 (exp (th z) * d z)).
  { intro z. auto_derive; [auto|]. rewrite Rmult_0_l, Rplus_0_r. ring. }
  assert (Z := sum_derive ys (fun t z => exp (th z + t * d z)) (fun z => exp (th z) * d z) 0 (fun z _ => E z)).
  assert (S0 : sum ys (fun z => exp (th z + 0 * d z)) = sum ys (fun z => exp (th z))).
  { apply sum_ext. intros. f_equal. ring. }
  unfold moved, softmax at 1. assert (NZ : sum ys (fun z => exp (th z + 0 * d z)) <> 0) by (rewrite S0; lra).
  assert (Q := is_derive_div _ _ 0 _ _ (E y) Z NZ). cbv beta in Q. rewrite S0 in Q. rewrite Rmult_0_l, Rplus_0_r in Q.
  replace (softmax ys th y * score ys th d y) with
    ((exp (th y) * d y * sum ys (fun z => exp (th z)) - exp (th y) * sum ys (fun z => exp (th z) * d z))
     / sum ys (fun z => exp (th z)) ^ 2); [exact Q|].
  unfold score, softmax. unfold Rdiv at 3.
  rewrite (sum_ext ys (fun z => exp (th z) * / sum ys (fun w => exp (th w)) * d z)
    (fun z => / sum ys (fun w => exp (th w)) * (exp (th z) * d z))) by (intros; ring).
  rewrite sum_scale. field. lra.
Qed.
(* The derivative, along the direction, of a function g of the mass of y. *)
Lemma chain : forall (ys : list Y) th d y g slope, ys <> [] -> is_derive g (softmax ys th y) slope ->
  is_derive (fun t => g (moved ys th d t y)) 0 (softmax ys th y * score ys th d y * slope).
Proof.
  intros ys th d y g slope N D. rewrite <- (moved_0 ys th d y) in D.
  exact (is_derive_comp g (fun t => moved ys th d t y) 0 _ _ D (moved_derive ys th d y N)).
Qed.
Lemma derive_along : forall (ys : list Y) th d y g slope, ys <> [] -> is_derive g (softmax ys th y) slope ->
  Derive (fun t => g (moved ys th d t y)) 0 = softmax ys th y * score ys th d y * slope.
Proof. intros. apply is_derive_unique, chain; auto. Qed.
Lemma derive_sum_along : forall (ys : list Y) th d g slope, ys <> [] ->
  (forall y, In y ys -> is_derive (g y) (softmax ys th y) (slope y)) ->
  Derive (fun t => sum ys (fun y => g y (moved ys th d t y))) 0 =
  sum ys (fun y => softmax ys th y * score ys th d y * slope y).
Proof.
  intros ys th d g slope N D. apply is_derive_unique.
  apply (sum_derive ys (fun t y => g y (moved ys th d t y))). intros y I. apply chain; auto.
Qed.
Lemma reverse_kl_slope : forall (ys : list Y) th d ref, ys <> [] -> positive ys ref ->
  Derive (fun t => kl ys (moved ys th d t) ref) 0 =
  sum ys (fun y => softmax ys th y * score ys th d y * (ln (softmax ys th y) - ln (ref y))).
Proof.
  intros ys th d ref N P. destruct (softmax_law ys th N) as [_ Q]. unfold kl.
  rewrite (derive_sum_along ys th d (fun y p => p * (ln p - ln (ref y)))
    (fun y => ln (softmax ys th y) - ln (ref y) + 1) N).
  - rewrite (sum_ext ys _ (fun y => softmax ys th y * score ys th d y * (ln (softmax ys th y) - ln (ref y)) +
      softmax ys th y * score ys th d y)) by (intros; ring).
    rewrite sum_plus, mean_score by exact N. ring.
  - intros y I. assert (S := Q y). auto_derive; [lra|]. field. lra.
Qed.

Ltac along law := let D := fresh "D" in assert (D := law); cbv beta in D; rewrite D; clear D.

Theorem k1_in_the_loss : forall (ys : list Y) th d ref, ys <> [] -> positive ys ref ->
  sum ys (fun y => softmax ys th y * Derive (fun t => k1 (ref y / moved ys th d t y)) 0) = 0.
Proof.
  intros ys th d ref N P. destruct (softmax_law ys th N) as [_ Q].
  transitivity (sum ys (fun y => softmax ys th y * score ys th d y)); [|apply mean_score, N].
  apply sum_ext. intros y I. assert (S := Q y). assert (R0 := P y I).
  along (derive_along ys th d y (fun p => k1 (ref y / p)) (/ softmax ys th y) N); [field; lra|].
  unfold k1. auto_derive; [repeat split; try lra; apply Rdiv_lt_0_compat; lra|]. field. lra.
Qed.
Theorem k2_in_the_loss : forall (ys : list Y) th d ref, ys <> [] -> positive ys ref ->
  sum ys (fun y => softmax ys th y * Derive (fun t => k2 (ref y / moved ys th d t y)) 0) =
  Derive (fun t => kl ys (moved ys th d t) ref) 0.
Proof.
  intros ys th d ref N P. destruct (softmax_law ys th N) as [_ Q]. rewrite reverse_kl_slope by auto.
  apply sum_ext. intros y I. assert (S := Q y). assert (R0 := P y I).
  along (derive_along ys th d y (fun p => k2 (ref y / p)) ((ln (softmax ys th y) - ln (ref y)) / softmax ys th y) N);
    [field; lra|].
  unfold k2. auto_derive; [repeat split; try lra; apply Rdiv_lt_0_compat; lra|].
  change (ref y * / softmax ys th y) with (ref y / softmax ys th y). rewrite ln_quotient by lra. field. lra.
Qed.
Lemma k3_slope : forall r p, 0 < r -> 0 < p -> is_derive (fun p => k3 (r / p)) p (/ p - r / p ^ 2).
Proof.
  intros r p Hr Hp. unfold k3. auto_derive; [repeat split; try lra; apply Rdiv_lt_0_compat; lra|]. field. lra.
Qed.
Theorem k3_in_the_loss : forall (ys : list Y) th d ref, ys <> [] -> positive ys ref ->
  sum ys (fun y => softmax ys th y * Derive (fun t => k3 (ref y / moved ys th d t y)) 0) =
  Derive (fun t => kl ys ref (moved ys th d t)) 0.
Proof.
  intros ys th d ref N P. destruct (softmax_law ys th N) as [_ Q]. unfold kl.
  rewrite (derive_sum_along ys th d (fun y p => ref y * (ln (ref y) - ln p)) (fun y => - (ref y / softmax ys th y)) N).
  - transitivity (sum ys (fun y => softmax ys th y * score ys th d y)
      + sum ys (fun y => softmax ys th y * score ys th d y * - (ref y / softmax ys th y)));
      [|rewrite mean_score by exact N; ring].
    rewrite <- sum_plus. apply sum_ext. intros y I. assert (S := Q y). assert (R0 := P y I).
    along (derive_along ys th d y (fun p => k3 (ref y / p)) _ N (k3_slope _ _ R0 S)). field. lra.
  - intros y I. assert (S := Q y). auto_derive; [lra|]. field. lra.
Qed.
Theorem k3_with_the_ratio : forall (ys : list Y) th d ref, ys <> [] -> positive ys ref ->
  sum ys (fun y => softmax ys th y *
    Derive (fun t => moved ys th d t y / softmax ys th y * k3 (ref y / moved ys th d t y)) 0) =
  Derive (fun t => kl ys (moved ys th d t) ref) 0.
Proof.
  intros ys th d ref N P. destruct (softmax_law ys th N) as [_ Q]. rewrite reverse_kl_slope by auto.
  apply sum_ext. intros y I. assert (S := Q y). assert (R0 := P y I).
  along (derive_along ys th d y (fun p => p / softmax ys th y * k3 (ref y / p))
    ((ln (softmax ys th y) - ln (ref y)) / softmax ys th y) N); [field; lra|].
  unfold k3. auto_derive; [repeat split; try lra; apply Rdiv_lt_0_compat; lra|].
  change (ref y * / softmax ys th y) with (ref y / softmax ys th y). rewrite ln_quotient by lra. field. lra.
Qed.
Theorem k1_in_the_reward : forall (ys : list Y) th d ref, ys <> [] -> positive ys ref ->
  sum ys (fun y => softmax ys th y * (k1 (ref y / softmax ys th y) * Derive (fun t => ln (moved ys th d t y)) 0)) =
  Derive (fun t => kl ys (moved ys th d t) ref) 0.
Proof.
  intros ys th d ref N P. destruct (softmax_law ys th N) as [_ Q]. rewrite reverse_kl_slope by auto.
  apply sum_ext. intros y I. assert (S := Q y). assert (R0 := P y I).
  along (derive_along ys th d y ln (/ softmax ys th y) N).
  - unfold k1. rewrite ln_quotient by lra. field. lra.
  - auto_derive; [lra|]. field. lra.
Qed.
Theorem estimators_as_values : forall (ys : list Y) pi ref, law ys pi -> law ys ref -> positive ys pi -> positive ys ref ->
  sum ys (fun y => pi y * k1 (ref y / pi y)) = kl ys pi ref /\
  sum ys (fun y => pi y * k3 (ref y / pi y)) = kl ys pi ref.
Proof.
  intros ys pi ref [_ S] [_ T] P Q. assert (K : sum ys (fun y => pi y * k1 (ref y / pi y)) = kl ys pi ref).
  { apply sum_ext. intros y I. assert (A := P y I). assert (B := Q y I). unfold k1. rewrite ln_quotient by lra. ring. }
  split; [exact K|]. rewrite <- K. rewrite (sum_ext ys _ (fun y => pi y * k1 (ref y / pi y) + (ref y - pi y))).
  - rewrite sum_plus, sum_minus, S, T. ring.
  - intros y I. assert (A := P y I). unfold k1, k3. field. lra.
Qed.
(* E (v - c) grad log pi is the gradient of the pass rate, for every baseline c. *)
Theorem every_baseline : forall (ys : list Y) th d valid c, ys <> [] ->
  sum ys (fun y => softmax ys th y * ((one (valid y) - c) * Derive (fun t => ln (moved ys th d t y)) 0)) =
  Derive (fun t => mass ys (moved ys th d t) valid) 0.
Proof.
  intros ys th d v c N. destruct (softmax_law ys th N) as [_ Q]. unfold mass.
  rewrite (derive_sum_along ys th d (fun y p => one (v y) * p) (fun y => one (v y)) N).
  - transitivity (sum ys (fun y => softmax ys th y * score ys th d y * one (v y))
      + - c * sum ys (fun y => softmax ys th y * score ys th d y)); [|rewrite mean_score by exact N; ring].
    rewrite <- sum_scale, <- sum_plus. apply sum_ext. intros y I. assert (S := Q y).
    along (derive_along ys th d y ln (/ softmax ys th y) N); [field; lra|auto_derive; [lra|field; lra]].
  - intros y I. auto_derive; [auto|ring].
Qed.
End Along.

(* At p_b every penalised reward is their mean, so no weights of the answers move it. *)
Theorem weights_move_nothing {Y} : forall (ys : list Y) base valid beta weight d, law ys base ->
  positive ys base -> 0 < beta ->
  sum ys (fun y => tilted ys base valid beta y * weight y *
    (one (valid y) - beta * ln (tilted ys base valid beta y / base y)
      - sum ys (fun z => tilted ys base valid beta z * (one (valid z) - beta * ln (tilted ys base valid beta z / base z))))
    * (d y - sum ys (fun z => tilted ys base valid beta z * d z))) = 0.
Proof.
  intros ys a v beta w d L P Hb. destruct (tilted_law ys a v beta L P) as [[_ S] Q].
  assert (R1 : forall y, In y ys -> one (v y) - beta * ln (tilted ys a v beta y / a y) = beta * ln (normaliser (mass ys a v) beta)).
  { intros y I. assert (A := P y I). assert (Z := normaliser_positive _ beta (mass_bounds ys a v L)).
    unfold tilted. rewrite tilted_sum by exact L.
    replace (a y * exp (one (v y) / beta) / normaliser (mass ys a v) beta / a y)
      with (exp (one (v y) / beta) / normaliser (mass ys a v) beta) by (field; lra).
    rewrite ln_quotient, ln_exp by (auto using exp_pos). field. lra. }
  apply sum_zero. intros y I. rewrite (R1 y I).
  rewrite (sum_ext ys (fun z => tilted ys a v beta z * (one (v z) - beta * ln (tilted ys a v beta z / a z)))
    (fun z => beta * ln (normaliser (mass ys a v) beta) * tilted ys a v beta z)) by (intros z J; rewrite (R1 z J); ring).
  rewrite sum_scale, S. ring.
Qed.
(* Mean verdicts phi + J v, with J = 1 - phi - nu. *)
Definition tilted_by {Y : Type} (ys : list Y) (a reward : Y -> R) (beta : R) (y : Y) : R :=
  a y * exp (reward y / beta) / sum ys (fun z => a z * exp (reward z / beta)).

Theorem errors_scale_beta {Y} : forall (ys : list Y) base valid beta accepted refused, law ys base ->
  positive ys base -> 0 < beta -> 0 < 1 - accepted - refused -> forall y, In y ys ->
  tilted_by ys base (fun z => accepted + (1 - accepted - refused) * one (valid z)) beta y =
  tilted ys base valid (beta / (1 - accepted - refused)) y.
Proof.
  intros ys a v beta phi nu L P Hb HJ y I. unfold tilted_by, tilted. set (J := 1 - phi - nu) in *.
  assert (E : forall z, exp ((phi + J * one (v z)) / beta) = exp (phi / beta) * exp (one (v z) / (beta / J))).
  { intro z. rewrite <- exp_plus. f_equal. field. lra. }
  rewrite E. rewrite (sum_ext ys _ (fun z => exp (phi / beta) * (a z * exp (one (v z) / (beta / J)))))
    by (intros; rewrite E; ring).
  rewrite sum_scale. assert (X := exp_pos (phi / beta)).
  assert (Z : 0 < sum ys (fun z => a z * exp (one (v z) / (beta / J)))).
  { rewrite tilted_sum by exact L. apply normaliser_positive, mass_bounds, L. }
  field. lra.
Qed.
