(* Second differences, and the curvatures that they give. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Updates Generators.
Import ListNotations. Open Scope R_scope.
Lemma second_quotient : forall f f1 x s, 0 < s -> (forall y, x - s <= y <= x + s -> is_derive f y (f1 y)) ->
  exists c, 0 < c < s /\ (f (x + s) + f (x - s) - 2 * f x) / s ^ 2 = ((f1 (x + c) - f1 x) / c + (f1 (x - c) - f1 x) / (- c)) / 2.
Proof.
  intros f f1 x s P D. set (g := fun t => f (x + t) + f (x - t)). set (d := g s - g 0).
  destruct (mean_value (fun t => (g t - g 0) * s ^ 2 - d * t ^ 2) (fun t => (f1 (x + t) - f1 (x - t)) * s ^ 2 - d * (2 * t)) 0 s P)
    as (c & E & I).
  - intros t J. unfold g. assert (D1 := D (x + t) ltac:(lra)). assert (D2 := D (x - t) ltac:(lra)). auto_derive.
    + repeat split; eexists; [exact D1|exact D2].
    + change (x + - t) with (x - t). change (Derive (fun x : R => f x)) with (Derive f).
      rewrite (is_derive_unique f _ _ D1), (is_derive_unique f _ _ D2). ring.
  - exists c. split; [exact I|]. assert (Z : (f1 (x + c) - f1 (x - c)) * s ^ 2 - d * (2 * c) = 0).
    { apply Rmult_eq_reg_r with (s - 0); [|lra]. rewrite <- E. unfold d. ring. }
    replace (f (x + s) + f (x - s) - 2 * f x) with d by (unfold d, g; rewrite Rplus_0_r, Rminus_0_r; ring).
    replace d with ((f1 (x + c) - f1 (x - c)) * s ^ 2 / (2 * c)); [field; lra|]. field_simplify_eq; lra.
Qed.
Theorem second_difference : forall f f1 x f2 r h, 0 < r -> h <> 0 -> (forall y, x - r < y < x + r -> is_derive f y (f1 y)) ->
  is_derive f1 x f2 -> is_lim (fun e => (f (x + h * e) + f (x - h * e) - 2 * f x) / (h * e) ^ 2) 0 f2.
Proof.
  intros f f1 x f2 r h R0 H D E. apply is_derive_Reals in E. apply is_lim_spec. intro eps. unfold Rbar_locally', locally', within, locally.
  destruct (E eps (cond_pos eps)) as [del K]. assert (Hh : 0 < Rabs h) by (apply Rabs_pos_lt, H).
  assert (P : 0 < Rmin del r / Rabs h) by (apply Rdiv_lt_0_compat; [apply Rmin_glb_lt; [apply cond_pos|exact R0]|exact Hh]).
  exists (mkposreal _ P). intros e B N. unfold ball in B. simpl in B. unfold AbsRing_ball, abs, minus, plus, opp in B. simpl in B.
  rewrite Ropp_0, Rplus_0_r in B.
  assert (S : 0 < Rabs (h * e) < Rmin del r).
  { split; [apply Rabs_pos_lt, Rmult_integral_contrapositive; auto|]. rewrite Rabs_mult, Rmult_comm.
    apply (Rmult_lt_compat_r (Rabs h)) in B; [|exact Hh]. replace (Rmin del r / Rabs h * Rabs h) with (Rmin del r) in B by (field; lra). exact B. }
  set (s := Rabs (h * e)) in *. assert (M1 := Rmin_l del r). assert (M2 := Rmin_r del r).
  destruct (second_quotient f f1 x s (proj1 S)) as (c & I & Q); [intros y J; apply D; lra|].
  replace ((f (x + h * e) + f (x - h * e) - 2 * f x) / (h * e) ^ 2) with ((f (x + s) + f (x - s) - 2 * f x) / s ^ 2).
  2: { unfold s, Rabs. destruct (Rcase_abs (h * e)); [|reflexivity].
    replace (x - - (h * e)) with (x + h * e) by ring. replace (x + - (h * e)) with (x - h * e) by ring.
    replace ((- (h * e)) ^ 2) with ((h * e) ^ 2) by ring. f_equal. ring. }
  rewrite Q. assert (K1 := K c ltac:(lra) ltac:(rewrite Rabs_right; lra)). assert (K2 := K (- c) ltac:(lra) ltac:(rewrite Rabs_left; lra)).
  change (x + - c) with (x - c) in K2. apply Rabs_def2 in K1. apply Rabs_def2 in K2. apply Rabs_def1; lra.
Qed.
(* The curvatures at 1. *)
Theorem curvatures : forall al f f1 f2 h, al <> 0 -> al <> 1 -> h <> 0 -> In (f, f1, f2) (named al) ->
  is_lim (fun e => (f (1 + h * e) + f (1 - h * e)) / (h * e) ^ 2) 0 (f2 1) /\
  map (fun g => snd g 1) (named al) = [1; 1; 1 / 2; 1 / 2; 2; 2; 1; 1].
Proof.
  intros al f f1 f2 h A0 A1 H I. split.
  - destruct (named_bent al f f1 f2 A0 A1 I) as [B Z].
    apply (is_lim_ext (fun e => (f (1 + h * e) + f (1 - h * e) - 2 * f 1) / (h * e) ^ 2)); [intro e; rewrite Z; f_equal; ring|].
    apply (second_difference f f1 1 (f2 1) 1 h); [lra|exact H| |apply B; lra]. intros y J. apply B. lra.
  - unfold named, Rpower. simpl. rewrite ln_1, Rmult_0_r, exp_0, sqrt_1. repeat f_equal; field.
Qed.
(* Two bounds on exponentials. *)
Lemma exp_le : forall x y, x <= y -> exp x <= exp y.
Proof. intros x y [L| ->]; [left; apply exp_increasing, L|right; reflexivity]. Qed.
Lemma exp_line : forall y, 0 <= exp y - 1 - y <= y ^ 2 / 2 * Rmax 1 (exp y).
Proof.
  intro y. split; [assert (E := exp_ineq1_le y); lra|]. destruct (Rle_or_lt 0 y) as [L|L].
  - rewrite Rmax_right by (rewrite <- exp_0; apply exp_le, L).
    assert (R0 := rising (fun t => t ^ 2 / 2 * exp t - (exp t - 1 - t)) (fun t => (t + t ^ 2 / 2) * exp t - exp t + 1) 0 y L).
    destruct R0 as [R0 _]; [intros t _; auto_derive; [auto|field]| |rewrite exp_0 in R0; lra].
    intros t T. assert (E := exp_ineq1_le (- t)). rewrite exp_Ropp in E. assert (X := exp_pos t).
    apply (Rmult_le_compat_r (exp t)) in E; [|lra]. rewrite Rinv_l in E by lra. assert (0 <= t ^ 2 / 2 * exp t) by (apply Rmult_le_pos; [nra|lra]). lra.
  - rewrite Rmax_left by (rewrite <- exp_0; apply exp_le; lra).
    assert (R0 := rising (fun t => exp t - 1 - t - t ^ 2 / 2) (fun t => exp t - 1 - t) y 0 ltac:(lra)).
    destruct R0 as [R0 _]; [intros t _; auto_derive; [auto|field]| |rewrite exp_0 in R0; lra].
    intros t T. assert (E := exp_ineq1_le t). lra.
Qed.
Lemma power_rate : forall al t, 0 < al <= 1 ->
  0 <= exp t - 1 - (exp (al * t) - 1) / al <= (1 - al) * (t ^ 2 / 2) * Rmax 1 (exp t).
Proof.
  intros al t Ha. assert (D : forall x, is_derive (fun t => exp t - 1 - (exp (al * t) - 1) / al) x (exp x - exp (al * x)))
    by (intro x; auto_derive; [auto|field; lra]).
  assert (Z : exp 0 - 1 - (exp (al * 0) - 1) / al = 0) by (rewrite Rmult_0_r, exp_0; field; lra).
  assert (gap : forall x, exp x - exp (al * x) = exp (al * x) * (exp ((1 - al) * x) - 1)).
  { intro x. replace x with (al * x + (1 - al) * x) at 1 by ring. rewrite exp_plus. ring. }
  destruct (Rle_or_lt 0 t) as [L|L].
  - assert (M : forall x, 0 <= x -> 0 <= exp x - exp (al * x)) by (intros x X; assert (exp (al * x) <= exp x) by (apply exp_le; nra); lra).
    split.
    + rewrite <- Z. apply (rising _ _ 0 t L (fun x _ => D x)). intros x X. apply M, X.
    + rewrite Rmax_right by (rewrite <- exp_0; apply exp_le, L).
      assert (R0 := rising (fun t => (1 - al) * (t ^ 2 / 2) * exp t - (exp t - 1 - (exp (al * t) - 1) / al))
        (fun t => (1 - al) * (t + t ^ 2 / 2) * exp t - (exp t - exp (al * t))) 0 t L).
      destruct R0 as [R0 _]; [intros x _; auto_derive; [auto|field; lra]| |rewrite Z in R0; lra].
      intros x X. assert (E := exp_ineq1_le (- ((1 - al) * x))). assert (P := exp_pos x). assert (P2 : 0 <= (1 - al) * (x ^ 2 / 2) * exp x)
        by (repeat apply Rmult_le_pos; nra).
      assert (F : exp (al * x) = exp x * exp (- ((1 - al) * x))) by (rewrite <- exp_plus; f_equal; ring). rewrite F. nra.
  - split.
    + assert (R0 := rising (fun t => - (exp t - 1 - (exp (al * t) - 1) / al)) (fun x => - (exp x - exp (al * x))) t 0 ltac:(lra)).
      destruct R0 as [R0 _]; [intros x _; auto_derive; [auto|field; lra]| |rewrite Z in R0; lra].
      intros x X. assert (exp x <= exp (al * x)) by (apply exp_le; nra). lra.
    + rewrite Rmax_left by (rewrite <- exp_0; apply exp_le; lra).
      assert (R0 := rising (fun t => exp t - 1 - (exp (al * t) - 1) / al - (1 - al) * (t ^ 2 / 2) * 1)
        (fun x => exp x - exp (al * x) - (1 - al) * x) t 0 ltac:(lra)).
      destruct R0 as [R0 _]; [intros x _; auto_derive; [auto|field; lra]| |rewrite Z in R0; lra].
      intros x X. rewrite gap. assert (E := exp_ineq1_le ((1 - al) * x)). assert (A : exp (al * x) <= 1) by (rewrite <- exp_0; apply exp_le; nra).
      assert (N : 0 <= (1 - al) * - x) by (apply Rmult_le_pos; lra). assert (B := exp_le ((1 - al) * x) 0 ltac:(lra)). rewrite exp_0 in B. assert (P := exp_pos (al * x)).
      assert (Q : 0 <= (1 - exp (al * x)) * (1 - exp ((1 - al) * x))) by (apply Rmult_le_pos; lra). lra.
Qed.
