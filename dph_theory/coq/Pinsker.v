(* Pinsker's inequality: the squared total variation is at most half of KL, for every number of outcomes. *)
Require Import Reals List Lra. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws.
Import ListNotations. Open Scope R_scope.

(* The least value of the gap is at 1, where it is 0: its slope is (t - 1)^3 / (t^2 (t + 2)^2). *)
Lemma ln_above : forall t, 0 < t -> 5 * t ^ 2 - 4 * t - 1 <= 2 * t * (t + 2) * ln t.
Proof.
  intros t H. set (h := fun t => ln t - (5 * t ^ 2 - 4 * t - 1) / (2 * t * (t + 2))).
  assert (D : forall x, 0 < x -> is_derive h x ((x - 1) ^ 3 / (x ^ 2 * (x + 2) ^ 2))).
  { intros x P. unfold h. auto_derive; [repeat split; nra|]. field. lra. }
  assert (N : 0 <= h t).
  { assert (Z : h 1 = 0) by (unfold h; rewrite ln_1; field). rewrite <- Z. destruct (Rle_or_lt 1 t) as [L|L].
    - apply (rising h (fun x => (x - 1) ^ 3 / (x ^ 2 * (x + 2) ^ 2)) 1 t L); intros x I; [apply D; lra|].
      apply Rdiv_le_0_compat; [apply pow_le; lra|nra].
    - assert (Q : - h t <= - h 1); [|lra].
      apply (rising (fun x => - h x) (fun x => - ((x - 1) ^ 3 / (x ^ 2 * (x + 2) ^ 2))) t 1); [lra| |]; intros x I.
      { apply (is_derive_opp h x). apply D. lra. }
      unfold Rdiv. rewrite <- Ropp_mult_distr_l_reverse. apply Rmult_le_pos.
      + replace (- (x - 1) ^ 3) with ((1 - x) ^ 3) by ring. apply pow_le; lra.
      + apply Rlt_le, Rinv_0_lt_compat. assert (0 < x ^ 2) by (apply pow_lt; lra).
        assert (0 < (x + 2) ^ 2) by (apply pow_lt; lra). nra. }
  unfold h in N. apply (Rmult_le_compat_l (2 * t * (t + 2))) in N; [|nra].
  replace (2 * t * (t + 2) * (ln t - (5 * t ^ 2 - 4 * t - 1) / (2 * t * (t + 2))))
    with (2 * t * (t + 2) * ln t - (5 * t ^ 2 - 4 * t - 1)) in N by (field; lra). lra.
Qed.
Lemma pinsker_term : forall q p, 0 <= q -> 0 <= p -> (0 < q -> 0 < p) ->
  3 * (q - p) ^ 2 <= (4 * p + 2 * q) * (q * (ln q - ln p) - q + p).
Proof.
  intros q p [Hq|<-] Hp C; [|nra]. specialize (C Hq).
  assert (T : 0 < q / p) by (apply Rdiv_lt_0_compat; lra). assert (B := ln_above _ T).
  rewrite ln_quotient in B by lra. apply (Rmult_le_compat_l (p ^ 2)) in B; [|nra].
  replace (p ^ 2 * (5 * (q / p) ^ 2 - 4 * (q / p) - 1)) with (5 * q ^ 2 - 4 * q * p - p ^ 2) in B by (field; lra).
  replace (p ^ 2 * (2 * (q / p) * (q / p + 2) * (ln q - ln p))) with (2 * q * (q + 2 * p) * (ln q - ln p)) in B
    by (field; lra). lra.
Qed.
Theorem pinsker {Y} : forall (ys : list Y) q p, law ys q -> law ys p -> covers ys p q ->
  2 * tv ys q p ^ 2 <= kl ys q p.
Proof.
  intros ys q p [Wq Sq] [Wp Sp] C. unfold tv. set (S := sum ys (fun y => Rabs (q y - p y))).
  assert (P : 0 <= S) by (apply sum_nonneg; intros y _; apply Rabs_pos).
  destruct P as [P|P]; [|rewrite <- P; apply Rle_trans with 0; [lra|]; apply kl_nonneg; repeat split; auto].
  (* Each |q - p| is at most its mean with the weights S/2 and 2/S of the two factors. *)
  assert (T : S <= sum ys (fun y => S / 4 * ((4 * p y + 2 * q y) / 3) + / S * (q y * (ln (q y) - ln (p y)) - q y + p y))).
  { apply sum_le. intros y I. assert (B := pinsker_term (q y) (p y) (Wq y I) (Wp y I) (C y I)).
    assert (G : 0 <= q y * (ln (q y) - ln (p y)) - q y + p y).
    { destruct (gibbs_term (q y) (p y) (Wq y I) (Wp y I) (C y I)). lra. }
    set (g := q y * (ln (q y) - ln (p y)) - q y + p y) in *. assert (Q := Wq y I). assert (P' := Wp y I).
    set (c := (4 * p y + 2 * q y) / 3) in *. assert (Hc : 0 <= c) by (unfold c; lra).
    assert (E : (q y - p y) ^ 2 <= c * g) by (unfold c; lra). assert (IS : 0 < / S) by (apply Rinv_0_lt_compat; lra).
    apply Rsqr_incr_0_var; [|nra]. rewrite <- Rsqr_abs. unfold Rsqr.
    assert (F : (S / 4 * c) * (/ S * g) = c * g / 4) by (field; lra).
    assert (Z := Rle_0_sqr (S / 4 * c - / S * g)). unfold Rsqr in Z. nra. }
  rewrite sum_plus, !sum_scale in T.
  rewrite (sum_ext ys (fun y => (4 * p y + 2 * q y) / 3) (fun y => 4 / 3 * p y + 2 / 3 * q y)) in T
    by (intros; field).
  rewrite sum_plus, !sum_scale, Sp, Sq in T. rewrite (sum_ext ys (fun y => q y * (ln (q y) - ln (p y)) - q y + p y)
    (fun y => q y * (ln (q y) - ln (p y)) + (p y - q y))) in T by (intros; ring).
  rewrite sum_plus, sum_minus, Sp, Sq in T. fold (kl ys q p) in T. apply (Rmult_le_compat_l S) in T; [|lra].
  replace (S * (S / 4 * (4 / 3 * 1 + 2 / 3 * 1) + / S * (kl ys q p + (1 - 1)))) with (S ^ 2 / 2 + kl ys q p) in T
    by (field; lra). nra.
Qed.
Theorem pinsker_both_ways {Y} : forall (ys : list Y) pi ref, law ys pi -> law ys ref -> positive ys pi ->
  positive ys ref -> tv ys pi ref ^ 2 <= kl ys ref pi / 2 /\ tv ys pi ref ^ 2 <= kl ys pi ref / 2.
Proof.
  intros ys pi ref Lp Lr Pp Pr. assert (S : tv ys pi ref = tv ys ref pi).
  { unfold tv. f_equal. apply sum_ext. intros. apply Rabs_minus_sym. }
  assert (A := pinsker ys pi ref Lp Lr (fun y I _ => Pr y I)).
  assert (B := pinsker ys ref pi Lr Lp (fun y I _ => Pp y I)). rewrite <- S in B. split; lra.
Qed.
