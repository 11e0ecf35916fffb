(* The named generators of f-divergences: convex, zero at 1, and what divergences they make; their forms on
   samples. *)
Require Import Reals List Lra. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Pinsker KLControl Frontier Divergences Updates.
Import ListNotations. Open Scope R_scope.
Definition forward (u : R) : R := - ln u.
Definition reverse (u : R) : R := u * ln u.
Definition jensen_shannon (u : R) : R := u * ln u - (u + 1) * ln ((u + 1) / 2).
Definition hellinger (u : R) : R := (sqrt u - 1) ^ 2.
Definition pearson (u : R) : R := (u - 1) ^ 2.
Definition neyman (u : R) : R := (u - 1) ^ 2 / u.
Definition alpha_form (al u : R) : R := (Rpower u (1 - al) - (1 - al) * u - al) / (al * (al - 1)).
Definition half_distance (u : R) : R := Rabs (u - 1) / 2.

(* A function with its first and second derivative on the positive numbers, the second positive. *)
Definition bent (f f1 f2 : R -> R) : Prop :=
  forall x, 0 < x -> is_derive f x (f1 x) /\ is_derive f1 x (f2 x) /\ 0 < f2 x.
Lemma bent_curved : forall f f1 f2, bent f f1 f2 -> curved f f1 f2 /\ forall x, 0 < x -> 0 < f2 x.
Proof. intros f f1 f2 B. split; intros x H; destruct (B x H) as (D & E & P); [split; [exact D|split; [exact E|lra]]|exact P]. Qed.
Definition named (al : R) : list ((R -> R) * (R -> R) * (R -> R)) :=
  [(forward, fun u => - / u, fun u => / u ^ 2); (reverse, fun u => ln u + 1, fun u => / u);
   (jensen_shannon, fun u => ln u - ln ((u + 1) / 2), fun u => / (u * (u + 1)));
   (hellinger, fun u => 1 - / sqrt u, fun u => / (2 * (u * sqrt u)));
   (pearson, fun u => 2 * (u - 1), fun _ => 2); (neyman, fun u => 1 - / u ^ 2, fun u => 2 / u ^ 3);
   (alpha_form al, fun u => (1 - Rpower u (- al)) / al, fun u => Rpower u (- al - 1));
   (k3, fun u => 1 - / u, fun u => / u ^ 2)].
Theorem named_bent : forall al f f1 f2, al <> 0 -> al <> 1 -> In (f, f1, f2) (named al) -> bent f f1 f2 /\ f 1 = 0.
Proof.
  intros al f f1 f2 A0 A1 I. assert (Q : forall x, 0 < x -> 0 < x ^ 2) by (intros; apply pow_lt; auto).
  assert (R0 : forall x, 0 < x -> 0 < sqrt x /\ sqrt x * sqrt x = x)
    by (intros; split; [apply sqrt_lt_R0; auto|apply sqrt_sqrt; lra]).
  assert (one_half : (1 + 1) / 2 = 1) by field.
  repeat destruct I as [I|I]; [..|destruct I]; injection I as <- <- <-; (split;
    [intros x H; specialize (Q x H); destruct (R0 x H) as [S T]; split; [|split]|]).
  - unfold forward. auto_derive; [exact H|field; lra].
  - auto_derive; [lra|field; lra].
  - apply Rinv_0_lt_compat, Q.
  - unfold forward. rewrite ln_1. ring.
  - unfold reverse. auto_derive; [exact H|field; lra].
  - auto_derive; [exact H|field; lra].
  - apply Rinv_0_lt_compat, H.
  - unfold reverse. rewrite ln_1. ring.
  - unfold jensen_shannon. auto_derive; [lra|]. unfold Rdiv. set (l := ln ((x + 1) * / 2)). field. lra.
  - auto_derive; [lra|field; lra].
  - apply Rinv_0_lt_compat, Rmult_lt_0_compat; lra.
  - unfold jensen_shannon. rewrite one_half, ln_1. ring.
  - unfold hellinger. auto_derive; [exact H|field; lra].
  - auto_derive; [lra|]. rewrite T. field. lra.
  - apply Rinv_0_lt_compat. assert (0 < x * sqrt x) by (apply Rmult_lt_0_compat; lra). lra.
  - unfold hellinger. rewrite sqrt_1. ring.
  - unfold pearson. auto_derive; [auto|ring].
  - auto_derive; [auto|ring].
  - lra.
  - unfold pearson. ring.
  - unfold neyman. auto_derive; [lra|field; lra].
  - auto_derive; [lra|field; lra].
  - apply Rdiv_lt_0_compat; [lra|exact (pow_lt x 3 H)].
  - unfold neyman. field.
  - assert (E : exp ((1 - al) * ln x) = exp (- al * ln x) * x).
    { replace ((1 - al) * ln x) with (- al * ln x + ln x) by ring. rewrite exp_plus, exp_ln; auto. }
    unfold alpha_form, Rpower. auto_derive; [exact H|]. change (1 + - al) with (1 - al). rewrite E. field. lra.
  - assert (E : exp ((- al - 1) * ln x) = exp (- al * ln x) / x).
    { replace ((- al - 1) * ln x) with (- al * ln x + - ln x) by ring. rewrite exp_plus, exp_Ropp, exp_ln; auto. }
    unfold Rpower. auto_derive; [exact H|]. rewrite E. field. lra.
  - apply exp_pos.
  - unfold alpha_form, Rpower. rewrite ln_1, Rmult_0_r, exp_0. field. split; lra.
  - unfold k3. auto_derive; [exact H|field; lra].
  - auto_derive; [lra|field; lra].
  - apply Rinv_0_lt_compat, Q.
  - unfold k3. rewrite ln_1. ring.
Qed.
Corollary named_curved : forall al f f1 f2, al <> 0 -> al <> 1 -> In (f, f1, f2) (named al) -> curved f f1 f2.
Proof. intros al f f1 f2 A0 A1 I. apply bent_curved, (named_bent al f f1 f2 A0 A1 I). Qed.
Lemma chord : forall f f1 f2 v w t, curved f f1 f2 -> 0 < v -> 0 < w -> 0 <= t <= 1 ->
  f ((1 - t) * v + t * w) <= (1 - t) * f v + t * f w.
Proof.
  intros f f1 f2 v w t K V W T. set (x := (1 - t) * v + t * w). assert (X : 0 < x) by (unfold x; nra).
  destruct (tangent f f1 f2 v x K V X) as [A _], (tangent f f1 f2 w x K W X) as [B _].
  apply (Rmult_le_compat_l (1 - t)) in A; [|lra]. apply (Rmult_le_compat_l t) in B; [|lra].
  assert (E : (1 - t) * (f1 x * (v - x)) + t * (f1 x * (w - x)) = 0) by (unfold x; ring). lra.
Qed.
Theorem generators_convex : forall al f f1 f2 v w t, al <> 0 -> al <> 1 -> In (f, f1, f2) (named al) ->
  0 < v -> 0 < w -> 0 <= t <= 1 -> f ((1 - t) * v + t * w) <= (1 - t) * f v + t * f w /\ f 1 = 0.
Proof.
  intros al f f1 f2 v w t A0 A1 I V W T. destruct (named_bent al f f1 f2 A0 A1 I) as [B Z]. split; [|exact Z].
  apply (chord f f1 f2); auto. apply bent_curved, B.
Qed.
(* f is zero at 1, where its line of slope s touches it, and above that line elsewhere. *)
Definition touches (f : R -> R) (s : R) : Prop := f 1 = 0 /\ forall u, 0 < u -> u <> 1 -> s * (u - 1) < f u.
Theorem named_touch : forall al f f1 f2, al <> 0 -> al <> 1 -> In (f, f1, f2) (named al) -> touches f (f1 1).
Proof.
  intros al f f1 f2 A0 A1 I. destruct (named_bent al f f1 f2 A0 A1 I) as [B Z]. split; [exact Z|].
  intros u U N. destruct (bent_curved f f1 f2 B) as [K P]. destruct (tangent f f1 f2 u 1 K U Rlt_0_1) as [_ T].
  specialize (T P N). lra.
Qed.
Theorem half_distance_touches : touches half_distance 0.
Proof.
  unfold touches, half_distance. split; [rewrite Rminus_eq_0, Rabs_R0; field|]. intros u U N.
  assert (0 < Rabs (u - 1)) by (apply Rabs_pos_lt; lra). lra.
Qed.
Theorem nonnegative {Y} : forall (ys : list Y) f s pi ref, touches f s -> law ys pi -> law ys ref -> positive ys pi ->
  positive ys ref ->
  (forall y, In y ys -> Rabs (ref y * (f (pi y / ref y) - s * (pi y / ref y - 1))) <= divergence ys f pi ref) /\
  (divergence ys f pi ref = 0 <-> forall y, In y ys -> pi y = ref y).
Proof.
  intros ys f s pi ref [Z T] Lp Lr P Q. assert (G := gauge ys f pi ref (- s) Lp Lr Q).
  set (g := fun y => ref y * (f (pi y / ref y) + - s * (pi y / ref y - 1))) in *.
  assert (E : forall y, In y ys -> 0 <= g y /\ (g y = 0 -> pi y = ref y)).
  { intros y I. assert (A := P y I). assert (B := Q y I). unfold g. destruct (Req_dec (pi y / ref y) 1) as [H|N].
    - rewrite H, Z. split; [lra|]. intros _. replace (pi y) with (pi y / ref y * ref y) by (field; lra). rewrite H. ring.
    - assert (U := T (pi y / ref y) ltac:(apply Rdiv_lt_0_compat; auto) N).
      assert (0 < ref y * (f (pi y / ref y) + - s * (pi y / ref y - 1))) by (apply Rmult_lt_0_compat; lra). split; lra. }
  assert (W : weights ys g) by (intros y I; apply E, I). split.
  - intros y I. replace (ref y * _) with (g y) by (unfold g; ring). rewrite Rabs_right by (apply Rle_ge, E, I).
    rewrite <- G. apply term_le_sum; auto.
  - rewrite <- G. split.
    + intros H y I. apply E; [exact I|]. apply (sum_zero_each ys g W H y I).
    + intro H. apply sum_zero. intros y I. assert (B := Q y I). unfold g. rewrite (H y I).
      replace (ref y / ref y) with 1 by (field; lra). rewrite Z. ring.
Qed.
Theorem textbook {Y} : forall (ys : list Y) pi ref al, law ys pi -> law ys ref -> positive ys pi -> positive ys ref ->
  al <> 0 -> al <> 1 -> let middle := fun y => (pi y + ref y) / 2 in
  divergence ys forward pi ref = kl ys ref pi /\ divergence ys reverse pi ref = kl ys pi ref /\
  divergence ys jensen_shannon pi ref = kl ys pi middle + kl ys ref middle /\
  divergence ys hellinger pi ref = sum ys (fun y => (sqrt (pi y) - sqrt (ref y)) ^ 2) /\
  divergence ys pearson pi ref = sum ys (fun y => (pi y - ref y) ^ 2 / ref y) /\
  divergence ys neyman pi ref = sum ys (fun y => (pi y - ref y) ^ 2 / pi y) /\
  divergence ys half_distance pi ref = tv ys pi ref /\
  divergence ys (alpha_form al) pi ref =
    (1 - sum ys (fun y => Rpower (pi y) (1 - al) * Rpower (ref y) al)) / (al * (1 - al)).
Proof.
  intros ys pi ref al [_ S] [_ T] P Q A0 A1 m. unfold divergence.
  assert (L : forall y, In y ys -> ln (pi y / ref y) = ln (pi y) - ln (ref y)) by (intros; apply ln_quotient; auto).
  repeat split.
  - apply sum_ext. intros y I. unfold forward. rewrite L by auto. ring.
  - apply sum_ext. intros y I. assert (A := Q y I). unfold reverse. rewrite L by auto. field. lra.
  - unfold kl. rewrite <- sum_plus. apply sum_ext. intros y I. assert (A := P y I). assert (B := Q y I).
    unfold jensen_shannon, m. rewrite L by auto. replace ((pi y / ref y + 1) / 2) with ((pi y + ref y) / 2 / ref y) by (field; lra).
    rewrite (ln_quotient ((pi y + ref y) / 2)) by lra. field. lra.
  - apply sum_ext. intros y I. assert (B := Q y I). assert (A := P y I). unfold hellinger.
    rewrite sqrt_div by lra. assert (R0 := sqrt_lt_R0 _ B). replace (ref y) with (sqrt (ref y) * sqrt (ref y)) at 1
      by (apply sqrt_sqrt; lra). field. lra.
  - apply sum_ext. intros y I. assert (B := Q y I). unfold pearson. field. lra.
  - apply sum_ext. intros y I. assert (B := Q y I). assert (A := P y I). unfold neyman. field. lra.
  - unfold tv, Rdiv at 2. rewrite (Rmult_comm (sum _ _)), <- sum_scale. apply sum_ext. intros y I. assert (B := Q y I).
    unfold half_distance. replace (pi y / ref y - 1) with ((pi y - ref y) * / ref y) by (field; lra).
    rewrite Rabs_mult, (Rabs_right (/ ref y)); [field; lra|apply Rle_ge, Rlt_le, Rinv_0_lt_compat, B].
  - rewrite (sum_ext ys _ (fun y => / (al * (1 - al)) *
      ((1 - al) * pi y + al * ref y - Rpower (pi y) (1 - al) * Rpower (ref y) al))).
    + rewrite sum_scale, sum_minus, sum_plus, !sum_scale, S, T. field. lra.
    + intros y I. assert (B := Q y I). assert (A := P y I). unfold alpha_form.
      replace (Rpower (pi y / ref y) (1 - al)) with (Rpower (pi y) (1 - al) * Rpower (ref y) al / ref y); [field; lra|].
      unfold Rpower. rewrite L by auto. replace ((1 - al) * (ln (pi y) - ln (ref y)))
        with ((1 - al) * ln (pi y) + (al * ln (ref y) + - ln (ref y))) by ring.
      rewrite !exp_plus, exp_Ropp, exp_ln by exact B. field. lra.
Qed.
Theorem reversal {Y} : forall (ys : list Y) f pi ref, positive ys pi -> positive ys ref ->
  divergence ys f pi ref = divergence ys (fun u => u * f (/ u)) ref pi.
Proof.
  intros ys f pi ref P Q. apply sum_ext. intros y I. assert (A := P y I). assert (B := Q y I).
  replace (/ (ref y / pi y)) with (pi y / ref y) by (field; lra). field. lra.
Qed.
Theorem reversed_alpha : forall al u, 0 < u -> al <> 0 -> al <> 1 -> u * alpha_form al (/ u) = alpha_form (1 - al) u.
Proof.
  intros al u U A0 A1. unfold alpha_form. replace (Rpower (/ u) (1 - al)) with (Rpower u (1 - (1 - al)) / u).
  - field. lra.
  - unfold Rpower. rewrite ln_Rinv by exact U. replace ((1 - al) * - ln u) with ((1 - (1 - al)) * ln u + - ln u) by ring.
    rewrite exp_plus, exp_Ropp, exp_ln by exact U. reflexivity.
Qed.
