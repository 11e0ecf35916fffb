(* Divergences in place of total variation: the improvement bounds for the four divergences compared. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Extremes Pinsker KLControl Divergences Generators Forms Processing Returns.
Import ListNotations. Open Scope R_scope.

(* Forward and reverse KL, Jensen-Shannon and alpha = 1/2, each with its f''(1). *)
Definition compared : list ((R -> R) * R) := [(forward, 1); (reverse, 1); (jensen_shannon, 1 / 2); (alpha_form (/ 2), 1)].
Lemma pinsker_for_alpha {Y} : forall (ys : list Y) pi ref, law ys pi -> law ys ref -> positive ys pi -> positive ys ref ->
  2 * tv ys pi ref ^ 2 <= divergence ys (alpha_form (/ 2)) pi ref.
Proof.
  intros ys pi ref [_ Sp] [_ Sr] P Q. set (x := fun y => sqrt (pi y)). set (z := fun y => sqrt (ref y)).
  assert (X : forall y, In y ys -> 0 < x y /\ x y * x y = pi y) by (intros y I; split; [apply sqrt_lt_R0, P, I|apply sqrt_sqrt, Rlt_le, P, I]).
  assert (Z : forall y, In y ys -> 0 < z y /\ z y * z y = ref y) by (intros y I; split; [apply sqrt_lt_R0, Q, I|apply sqrt_sqrt, Rlt_le, Q, I]).
  assert (E : divergence ys (alpha_form (/ 2)) pi ref = 2 * sum ys (fun y => 1 * Rsqr (x y - z y))).
  { rewrite <- sum_scale. apply sum_ext. intros y I. destruct (X y I) as [X0 X1], (Z y I) as [Z0 Z1]. unfold alpha_form.
    replace (1 - / 2) with (/ 2) by field. rewrite Rpower_sqrt by (apply Rdiv_lt_0_compat; [apply P, I|apply Q, I]).
    rewrite sqrt_div_alt by (apply Q, I). fold (x y) (z y). rewrite <- X1, <- Z1. unfold Rsqr. field. lra. }
  assert (C := cauchy ys (fun _ => 1) (fun y => Rabs (x y - z y)) (fun y => x y + z y) ltac:(intros y _; lra)). cbv beta in C.
  rewrite (sum_ext ys _ (fun y => Rabs (pi y - ref y))) in C.
  - assert (B : sum ys (fun y => 1 * Rsqr (x y + z y)) <= 4).
    { replace 4 with (sum ys (fun y => 2 * (pi y + ref y))) by (rewrite sum_scale, sum_plus, Sp, Sr; ring). apply sum_le. intros y I.
      destruct (X y I) as [_ X1], (Z y I) as [_ Z1]. assert (T := Rle_0_sqr (x y - z y)). unfold Rsqr in *. lra. }
    rewrite (sum_ext ys (fun y => 1 * Rsqr (Rabs (x y - z y))) (fun y => 1 * Rsqr (x y - z y))) in C by (intros; rewrite <- Rsqr_abs; reflexivity).
    assert (N : 0 <= sum ys (fun y => 1 * Rsqr (x y - z y))) by (apply sum_nonneg; intros y _; rewrite Rmult_1_l; apply Rle_0_sqr).
    rewrite E. unfold tv. unfold Rsqr in C at 1. nra.
  - intros y I. destruct (X y I) as [X0 X1], (Z y I) as [Z0 Z1]. rewrite <- X1, <- Z1, Rmult_1_l.
    rewrite <- (Rabs_right (x y + z y)) at 1 by lra. rewrite <- Rabs_mult. f_equal. ring.
Qed.
Lemma pinsker_for_compared {Y} : forall (ys : list Y) f c pi ref, In (f, c) compared -> law ys pi -> law ys ref -> positive ys pi ->
  positive ys ref -> 0 < c /\ 2 * c * tv ys pi ref ^ 2 <= divergence ys f pi ref.
Proof.
  intros ys f c pi ref I Lp Lr P Q. destruct (textbook ys pi ref 2 Lp Lr P Q ltac:(lra) ltac:(lra)) as (F & R & _).
  destruct (pinsker_both_ways ys pi ref Lp Lr P Q) as [A B].
  destruct I as [I|[I|[I|[I|[]]]]]; inversion I; subst; clear I; (split; [lra|]).
  - rewrite F. lra.
  - rewrite R. lra.
  - assert (J := pinsker_for_js ys pi ref Lp Lr P Q). lra.
  - assert (J := pinsker_for_alpha ys pi ref Lp Lr P Q). lra.
Qed.
Section Radius.
Context {S A : Type} (ss : list S) (acts : list A) (P : S -> A -> S -> R) (r : S -> A -> R) (gamma : R) (rho : S -> R).
(* max_s D_f(pi||old) *)
Definition radius (f : R -> R) (pi old : S -> A -> R) : R := highest ss (fun s => divergence acts f (pi s) (old s)).
Definition everywhere (pi : S -> A -> R) : Prop := forall s, In s ss -> positive acts (pi s).
Lemma farthest_by_radius : forall f c pi old, In (f, c) compared -> process ss acts P gamma rho -> channel ss acts pi -> channel ss acts old ->
  everywhere pi -> everywhere old -> 0 < c /\ 2 * c * farthest ss acts pi old ^ 2 <= radius f pi old.
Proof.
  intros f c pi old I (N & _) C C' E E'. destruct (highest_in ss (distance acts pi old) N) as (s & Is & F). unfold farthest. rewrite F.
  destruct (pinsker_for_compared acts f c (pi s) (old s) I (C s Is) (C' s Is) (E s Is) (E' s Is)) as [K L]. split; [exact K|].
  apply Rle_trans with (1 := L). apply (le_highest ss (fun s => divergence acts f (pi s) (old s)) s Is).
Qed.
Theorem trust_region_of : forall f c pi old V W d e, In (f, c) compared -> pair ss acts P r gamma rho pi old V W d e ->
  everywhere pi -> everywhere old ->
  (1 - gamma) ^ 2 * (forecast ss acts P r gamma rho V e pi - return_of ss rho W) <=
  2 / c * gamma * worst_advantage ss acts P r gamma V * radius f pi old.
Proof.
  intros f c pi old V W d e I H E E'. apply Rle_trans with (1 := trust_region ss acts P r gamma rho pi old V W d e H).
  destruct H as (G & C & C' & _ & HV & _ & _). destruct (farthest_by_radius f c pi old I G C C' E E') as [K L].
  destruct (span_small ss acts P r gamma rho pi old V G C C' HV) as (_ & Q & _). destruct G as (_ & _ & _ & _ & G).
  set (w := worst_advantage ss acts P r gamma V) in *. set (x := farthest ss acts pi old ^ 2) in *.
  replace (4 * w * gamma * x) with (2 / c * gamma * w * (2 * c * x)) by (field; lra). apply Rmult_le_compat_l; [|exact L].
  assert (0 <= 2 / c) by (apply Rdiv_le_0_compat; lra). repeat apply Rmult_le_pos; lra.
Qed.
Theorem anchored_of : forall f c pi pef V W U d e, In (f, c) compared -> process ss acts P gamma rho -> channel ss acts pi ->
  channel ss acts pef -> values ss acts P r gamma pi W -> values ss acts P r gamma pef U -> visited ss acts P gamma rho pi d ->
  visited ss acts P gamma rho pef e -> everywhere pi -> everywhere pef ->
  least_gain ss acts P r gamma V pef - (1 - gamma) * (return_of ss rho W - return_of ss rho V) <=
  2 * worst_advantage ss acts P r gamma U * sqrt (radius f pi pef / (2 * c)).
Proof.
  intros f c pi pef V W U d e I G C C' HW HU D E F F'.
  assert (K0 := anchored ss acts P r gamma rho pi pef V W U d e G C C' HW HU D E).
  destruct (farthest_by_radius f c pi pef I G C C' F F') as [K L]. destruct (span_small ss acts P r gamma rho pi pef U G C C' HU) as (_ & Q & T).
  enough (anchor_penalty ss acts P r gamma pi pef U <= 2 * worst_advantage ss acts P r gamma U * sqrt (radius f pi pef / (2 * c))) by lra.
  set (w := worst_advantage ss acts P r gamma U) in *.
  assert (X : farthest ss acts pi pef <= sqrt (radius f pi pef / (2 * c))).
  { rewrite <- (sqrt_pow2 (farthest ss acts pi pef)) by exact T. apply sqrt_le_1_alt. apply Rmult_le_reg_r with (2 * c); [lra|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  apply highest_le; [apply G|]. intros s Is. assert (Y := le_highest ss (distance acts pi pef) s Is). fold (farthest ss acts pi pef) in Y.
  assert (Y0 := distance_nonneg acts pi pef s). assert (Z : span acts (advantage ss P r gamma U s) <= 2 * w).
  { assert (B : forall a, In a acts -> Rabs (advantage ss P r gamma U s a) <= w).
    { intros a J. apply Rle_trans with (highest acts (fun a => Rabs (advantage ss P r gamma U s a)));
        [apply (le_highest acts (fun a => Rabs (advantage ss P r gamma U s a))), J|].
      apply (le_highest ss (fun s => highest acts (fun a => Rabs (advantage ss P r gamma U s a)))), Is. }
    unfold span, lowest. assert (H1 : highest acts (advantage ss P r gamma U s) <= w).
    { apply highest_le; [apply G|]. intros a J. apply Rle_trans with (2 := B a J), Rle_abs. }
    assert (H2 : highest acts (fun a => - advantage ss P r gamma U s a) <= w).
    { apply highest_le; [apply G|]. intros a J. specialize (B a J). rewrite <- Rabs_Ropp in B. apply Rle_trans with (2 := B), Rle_abs. }
    lra. }
  apply Rle_trans with (distance acts pi pef s * (2 * w)); [apply Rmult_le_compat_l; auto|].
  replace (2 * w * sqrt (radius f pi pef / (2 * c))) with (sqrt (radius f pi pef / (2 * c)) * (2 * w)) by ring.
  apply Rmult_le_compat_r; lra.
Qed.
End Radius.
