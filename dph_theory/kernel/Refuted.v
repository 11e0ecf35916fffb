(* Statements that look like theorems and are false, each at its counterexample (B2, B3, B5, B6, C2, F4). *)
Require Import Reals List Lra. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Pinsker KLControl Divergences Updates.
Import ListNotations. Open Scope R_scope.

Definition three (a b c : R) (y : nat) : R := nth y [a; b; c] 0.
Definition places : list nat := [0%nat; 1%nat; 2%nat].

(* Rational bounds of a logarithm on both sides. *)
Lemma ln_bounds : forall t, 0 < t ->
  (5 * t ^ 2 - 4 * t - 1) / (2 * t * (t + 2)) <= ln t <= - ((5 * (/ t) ^ 2 - 4 * / t - 1) / (2 * / t * (/ t + 2))).
Proof.
  assert (low : forall t, 0 < t -> (5 * t ^ 2 - 4 * t - 1) / (2 * t * (t + 2)) <= ln t).
  { intros t H. assert (B := ln_above t H). apply Rmult_le_reg_l with (2 * t * (t + 2)); [nra|].
    replace (2 * t * (t + 2) * ((5 * t ^ 2 - 4 * t - 1) / (2 * t * (t + 2)))) with (5 * t ^ 2 - 4 * t - 1) by (field; lra). lra. }
  intros t H. split; [apply low, H|]. assert (B := low (/ t) ltac:(apply Rinv_0_lt_compat, H)).
  rewrite ln_Rinv in B by exact H. lra.
Qed.
(* B2: the misprint is negative where a divergence cannot be. *)
Definition misprint (u : R) : R := u * ln (u / 2) - (u + 1) / 2 * ln ((u + 1) / 2).
Theorem no_generator :
  divergence places misprint (three (1 / 2) (3 / 10) (1 / 5)) (three (1 / 5) (1 / 5) (3 / 5)) < 0.
Proof.
  unfold divergence, misprint, places, three. simpl.
  replace (1 / 2 / (1 / 5) / 2) with (5 / 4) by field. replace ((1 / 2 / (1 / 5) + 1) / 2) with (7 / 4) by field.
  replace (3 / 10 / (1 / 5) / 2) with (3 / 4) by field. replace ((3 / 10 / (1 / 5) + 1) / 2) with (5 / 4) by field.
  replace (1 / 5 / (3 / 5) / 2) with (1 / 6) by field. replace ((1 / 5 / (3 / 5) + 1) / 2) with (2 / 3) by field.
  destruct (ln_bounds (5 / 4)), (ln_bounds (7 / 4)), (ln_bounds (3 / 4)), (ln_bounds (1 / 6)), (ln_bounds (2 / 3)); lra.
Qed.
(* B3: on samples of the filtered model a gauge changes the loss, whatever the divergence. *)
Theorem gauge_on_correct_samples : forall f : R -> R,
  let pi := three (1 / 2) (3 / 10) (1 / 5) in let ref := three (1 / 5) (1 / 5) (3 / 5) in
  let p := filtered places ref (fun y => Nat.ltb y 2) in
  sum places (fun y => p y * (f (pi y / ref y) + 1 * (pi y / ref y - 1))) <>
  sum places (fun y => p y * (f (pi y / ref y) + 0 * (pi y / ref y - 1))).
Proof.
  intros f pi ref p. unfold p, filtered, mass, pi, ref, places, three. simpl. unfold one. intro E.
  field_simplify in E. lra.
Qed.
(* B5: two tokens, alpha = 1/2, laws that differ after the first of two first tokens only. *)
Definition half (p q : R) : R := 4 * (1 - (sqrt (p * q) + sqrt ((1 - p) * (1 - q)))).
Definition half_of_pairs (p1 q1 p2 q2 p3 q3 : R) : R :=
  4 * (1 - (sqrt (p1 * p2 * (q1 * q2)) + sqrt (p1 * (1 - p2) * (q1 * (1 - q2)))
    + sqrt ((1 - p1) * p3 * ((1 - q1) * q3)) + sqrt ((1 - p1) * (1 - p3) * ((1 - q1) * (1 - q3))))).
Theorem tokens_are_not_the_answer :
  1 / 10 * half (9 / 10) (1 / 10) + (1 - 1 / 10) * half (1 / 2) (1 / 2) + half (9 / 10) (1 / 10) <
  half_of_pairs (9 / 10) (1 / 10) (9 / 10) (1 / 10) (1 / 2) (1 / 2).
Proof.
  unfold half, half_of_pairs.
  assert (S : forall x y, 0 <= y -> y * y = x -> sqrt x = y) by (intros x y H <-; apply sqrt_square, H).
  rewrite (S (9 / 10 * (1 / 10)) (3 / 10)), (S ((1 - 9 / 10) * (1 - 1 / 10)) (3 / 10)), (S (1 / 2 * (1 / 2)) (1 / 2)),
    (S ((1 - 1 / 2) * (1 - 1 / 2)) (1 / 2)), (S (9 / 10 * (9 / 10) * (1 / 10 * (1 / 10))) (9 / 100)),
    (S (9 / 10 * (1 - 9 / 10) * (1 / 10 * (1 - 1 / 10))) (9 / 100)),
    (S ((1 - 9 / 10) * (1 / 2) * ((1 - 1 / 10) * (1 / 2))) (15 / 100)),
    (S ((1 - 9 / 10) * (1 - 1 / 2) * ((1 - 1 / 10) * (1 - 1 / 2))) (15 / 100)) by lra. lra.
Qed.
(* B6: the plain k3 loss does not descend the reverse KL. In logits, at pi = (4/5, 1/5), ref = (1/5, 4/5). *)
Theorem k3_is_not_reverse :
  let pi := coin (4 / 5) in let ref := coin (1 / 5) in
  pi true - ref true <> pi true * (ln (pi true / ref true) - kl two pi ref).
Proof.
  intros pi ref. unfold pi, ref, kl, two, coin. simpl. replace (4 / 5 / (1 / 5)) with 4 by field.
  replace (1 - 4 / 5) with (1 / 5) by field. replace (1 - 1 / 5) with (4 / 5) by field.
  assert (E : ln (4 / 5) - ln (1 / 5) = ln 4) by (rewrite <- ln_quotient by lra; f_equal; field).
  assert (B : ln 4 = 2 * ln 2) by (replace 4 with (2 * 2) by ring; rewrite ln_mult by lra; ring).
  destruct (ln_bounds 2); [lra|]. apply Rgt_not_eq. nra.
Qed.
(* C2: one state, two actions with rewards 1 and 0, pi = pi_old = (1/2, 1/2), a reference 0.04 better, gamma = .9;
   times 1 - gamma. With pi = pi_old the first penalty is zero. *)
Definition bound (constant divergence : R) : R :=
  let gamma := 9 / 10 in let pef := 54 / 100 in let advantage := pef - 1 / 2 in
  1 / 2 + advantage - constant * gamma / (1 - gamma) * Rmax (Rabs (1 - pef)) (Rabs (0 - pef)) * divergence.
Theorem stated_bound_fails :
  let pi := coin (1 / 2) in let pef := coin (54 / 100) in let mid := coin (52 / 100) in
  mass two pi (fun rewarded => rewarded) <
  Rmin (bound 2 (kl two pef pi)) (Rmin (bound 2 (kl two pi pef)) (bound 4 (kl two pi mid + kl two pef mid))).
Proof.
  intros pi pef mid. unfold bound, mass, kl, pi, pef, mid, two, coin. simpl.
  replace (1 - 1 / 2) with (1 / 2) by field. replace (1 - 54 / 100) with (46 / 100) by field.
  replace (1 - 52 / 100) with (48 / 100) by field.
  assert (Q : forall x y, 0 < x -> 0 < y -> ln x - ln y <= - ((5 * (/ (x / y)) ^ 2 - 4 * / (x / y) - 1) / (2 * / (x / y) * (/ (x / y) + 2)))).
  { intros x y Hx Hy. rewrite <- ln_quotient by auto. apply ln_bounds, Rdiv_lt_0_compat; auto. }
  rewrite Rabs_right, Rabs_left, Rmax_right by lra.
  assert (B1 := Q (54 / 100) (1 / 2)). assert (B2 := Q (46 / 100) (1 / 2)). assert (B3 := Q (1 / 2) (54 / 100)).
  assert (B4 := Q (1 / 2) (46 / 100)). assert (B5 := Q (1 / 2) (52 / 100)). assert (B6 := Q (1 / 2) (48 / 100)).
  assert (B7 := Q (54 / 100) (52 / 100)). assert (B8 := Q (46 / 100) (48 / 100)). repeat apply Rmin_glb_lt; lra.
Qed.
(* F4: a reward may raise entropy. *)
Definition entropy {Y : Type} (ys : list Y) (q : Y -> R) : R := - sum ys (fun y => q y * ln (q y)).
Definition four (y : nat) : R := nth y [7 / 10; 1 / 10; 1 / 10; 1 / 10] 0.
Theorem entropy_rises :
  let ys := [0%nat; 1%nat; 2%nat; 3%nat] in
  entropy ys four < entropy ys (tilted ys four (fun y => Nat.ltb 0 y) (1 / 2)).
Proof.
  intro ys. assert (La : law ys four) by (split; [intros y [<-|[<-|[<-|[<-|[]]]]]; unfold four; simpl; lra|unfold four; simpl; lra]).
  unfold entropy. rewrite (sum_ext ys (fun y => tilted _ _ _ _ y * _) (fun y => tilted ys four (fun y => Nat.ltb 0 y) (1 / 2) y *
    (ln (four y) + one (Nat.ltb 0 y) / (1 / 2) - ln (normaliser (mass ys four (fun y => Nat.ltb 0 y)) (1 / 2))))).
  2: { intros y I. assert (P : 0 < four y) by (destruct I as [<-|[<-|[<-|[<-|[]]]]]; unfold four; simpl; lra).
    f_equal. unfold tilted. rewrite tilted_sum by exact La. assert (Z := normaliser_positive _ (1 / 2) (mass_bounds ys four (fun y => Nat.ltb 0 y) La)).
    rewrite ln_quotient, ln_mult, ln_exp; auto using exp_pos, Rmult_lt_0_compat. }
  assert (M : mass ys four (fun y => Nat.ltb 0 y) = 3 / 10) by (unfold mass, ys, four; simpl; lra).
  rewrite (sum_ext ys (fun y => tilted _ _ _ _ y * _) (fun y => four y * (if Nat.ltb 0 y then exp (1 / (1 / 2)) else 1) / normaliser (3 / 10) (1 / 2) *
    (ln (four y) + one (Nat.ltb 0 y) / (1 / 2) - ln (normaliser (3 / 10) (1 / 2))))) by (intros y _; rewrite tilted_is, M by exact La; reflexivity).
  unfold ys, four. simpl. unfold normaliser. replace (1 / (1 / 2)) with (1 + 1) by field. rewrite exp_plus. set (e := exp 1).
  assert (He : 7 / 3 < e).
  { unfold e. replace 1 with (1 / 4 + 1 / 4 + (1 / 4 + 1 / 4)) by field. rewrite !exp_plus.
    assert (Q := exp_ineq1_le (1 / 4)). set (q := exp (1 / 4)) in *. assert (25 / 16 <= q * q) by nra. nra. }
  set (Z := 1 - 3 / 10 + 3 / 10 * (e * e)). assert (HZ : e <= Z) by (unfold Z; nra).
  assert (LZ : 1 <= ln Z) by (rewrite <- (ln_exp 1); destruct HZ as [H| <-]; [left; apply ln_increasing; [apply exp_pos|exact H]|right; reflexivity]).
  assert (L7 : 3 / 2 <= ln (7 / 10) - ln (1 / 10)).
  { rewrite <- ln_quotient by lra. replace (7 / 10 / (1 / 10)) with 7 by field. destruct (ln_bounds 7); lra. }
  set (s := 7 / 10 / Z). assert (Hs : 0 < s <= 7 / 10).
  { unfold s. split; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_reg_r with Z; [lra|]. field_simplify; lra. }
  replace (1 / 10 * (e * e) / Z) with ((1 - s) / 3) by (unfold s, Z; field; unfold Z in *; nra).
  replace (7 / 10 * 1 / Z) with s by (unfold s; field; lra). nra.
Qed.
