(* What updates select and where they rest: alpha-DPG, an entropy bonus, relaxation. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws KLControl Frontier Divergences Generators Updates Coverage.
Import ListNotations. Open Scope R_scope.
(* z^a, which is 0 at z = 0. *)
Definition power (z a : R) : R := if Rlt_dec 0 z then Rpower z a else 0.
Lemma power_positive : forall z a, 0 < z -> power z a = Rpower z a.
Proof. intros z a H. unfold power. destruct (Rlt_dec 0 z); [reflexivity|contradiction]. Qed.
Lemma power_zero : forall a, power 0 a = 0.
Proof. intro a. unfold power. destruct (Rlt_dec 0 0); [lra|reflexivity]. Qed.
Definition dpg_reward {Y : Type} (al : R) (pi target : Y -> R) (y : Y) : R := (power (target y / pi y) al - 1) / al.
(* D_alpha(pi||target), where the target may lack outcomes. *)
Definition alpha_distance {Y : Type} (ys : list Y) (al : R) (pi target : Y -> R) : R :=
  (1 - sum ys (fun y => power (pi y) (1 - al) * power (target y) al)) / (al * (1 - al)).
Theorem reward_of_invalid {Y} : forall (ys : list Y) al pi base valid y,
  one (negb (valid y)) * dpg_reward al pi (filtered ys base valid) y = one (negb (valid y)) * - (1 / al).
Proof.
  intros ys al pi a v y. unfold dpg_reward, filtered. destruct (v y); simpl; [ring|].
  unfold Rdiv. rewrite !Rmult_0_l, power_zero. ring.
Qed.
Lemma filtered_none {Y} : forall (ys : list Y) a v y, v y = false -> filtered ys a v y = 0.
Proof. intros ys a v y V. unfold filtered. rewrite V. simpl. unfold Rdiv. ring. Qed.
Section Pulls.
Context {Y : Type}.
Lemma log_score : forall (ys : list Y) th d y, ys <> [] -> Derive (fun t => ln (moved ys th d t y)) 0 = score ys th d y.
Proof.
  intros ys th d y N. destruct (softmax_law ys th N) as [_ Q]. assert (S := Q y).
  rewrite (derive_along ys th d y ln (/ softmax ys th y) N); [field; lra|auto_derive; [lra|field; lra]].
Qed.
Lemma alpha_slope : forall (ys : list Y) th d al target, ys <> [] -> al <> 0 -> al <> 1 -> weights ys target ->
  - Derive (fun t => alpha_distance ys al (moved ys th d t) target) 0 =
  sum ys (fun y => softmax ys th y * score ys th d y * (power (target y / softmax ys th y) al / al)).
Proof.
  intros ys th d al g N A0 A1 W. destruct (softmax_law ys th N) as [_ Q].
  assert (Q' : forall t y, 0 < moved ys th d t y) by (intros t y; apply (proj2 (softmax_law ys (fun y => th y + t * d y) N))).
  rewrite (Derive_ext _ (fun t => / (al * (1 - al)) - / (al * (1 - al)) *
    sum ys (fun y => Rpower (moved ys th d t y) (1 - al) * power (g y) al))).
  2: { intro t. unfold alpha_distance. rewrite (sum_ext ys _ (fun y => Rpower (moved ys th d t y) (1 - al) * power (g y) al))
      by (intros y _; rewrite power_positive by apply Q'; reflexivity). field. lra. }
  assert (D := sum_derive ys (fun t y => Rpower (moved ys th d t y) (1 - al) * power (g y) al)
    (fun y => softmax ys th y * score ys th d y * ((1 - al) * Rpower (softmax ys th y) (- al) * power (g y) al)) 0).
  assert (E : is_derive (fun t => / (al * (1 - al)) - / (al * (1 - al)) *
    sum ys (fun y => Rpower (moved ys th d t y) (1 - al) * power (g y) al)) 0
    (0 - / (al * (1 - al)) * sum ys (fun y => softmax ys th y * score ys th d y * ((1 - al) * Rpower (softmax ys th y) (- al) * power (g y) al)))).
  { apply (is_derive_minus (fun _ => / (al * (1 - al)))); [apply (is_derive_const (/ (al * (1 - al))))|].
    apply is_derive_scal, D. intros y _. apply (chain ys th d y (fun p => Rpower p (1 - al) * power (g y) al)); [exact N|].
    assert (S := Q y). unfold Rpower. auto_derive; [exact S|].
    replace (exp ((1 - al) * ln (softmax ys th y))) with (exp (- al * ln (softmax ys th y)) * softmax ys th y); [field; lra|].
    replace ((1 - al) * ln (softmax ys th y)) with (- al * ln (softmax ys th y) + ln (softmax ys th y)) by ring.
    rewrite exp_plus, exp_ln; auto. }
  etransitivity; [apply f_equal; exact (is_derive_unique _ _ _ E)|]. rewrite Rminus_0_l, Ropp_involutive, <- sum_scale. apply sum_ext. intros y I.
  assert (S := Q y). destruct (W y I) as [G|G].
  - rewrite !power_positive by (auto; apply Rdiv_lt_0_compat; auto). unfold Rpower. rewrite ln_quotient by auto.
    replace (al * (ln (g y) - ln (softmax ys th y))) with (- al * ln (softmax ys th y) + al * ln (g y)) by ring.
    rewrite exp_plus. field. lra.
  - rewrite <- G. unfold Rdiv. rewrite Rmult_0_l, !power_zero. ring.
Qed.
Theorem dpg_descends : forall (ys : list Y) th d al base valid, ys <> [] -> al <> 0 -> al <> 1 -> law ys base ->
  0 < mass ys base valid ->
  sum ys (fun y => softmax ys th y * (dpg_reward al (softmax ys th) (filtered ys base valid) y *
    Derive (fun t => ln (moved ys th d t y)) 0)) =
  - Derive (fun t => alpha_distance ys al (moved ys th d t) (filtered ys base valid)) 0.
Proof.
  intros ys th d al a v N A0 A1 L M. rewrite alpha_slope by (auto; apply (filtered_law ys a v L M)).
  transitivity (sum ys (fun y => softmax ys th y * score ys th d y * (power (filtered ys a v y / softmax ys th y) al / al))
    + - / al * sum ys (fun y => softmax ys th y * score ys th d y)); [|rewrite mean_score by exact N; ring].
  rewrite <- sum_scale, <- sum_plus. apply sum_ext. intros y _. rewrite log_score by exact N. unfold dpg_reward. field. exact A0.
Qed.
Lemma forward_slope : forall (ys : list Y) th d ref, ys <> [] ->
  Derive (fun t => kl ys ref (moved ys th d t)) 0 = - sum ys (fun y => ref y * score ys th d y).
Proof.
  intros ys th d ref N. destruct (softmax_law ys th N) as [_ Q]. unfold kl.
  rewrite (derive_sum_along ys th d (fun y p => ref y * (ln (ref y) - ln p)) (fun y => - (ref y / softmax ys th y)) N).
  - transitivity (-1 * sum ys (fun y => ref y * score ys th d y)); [|ring]. rewrite <- sum_scale. apply sum_ext. intros y _. assert (S := Q y). field. lra.
  - intros y _. assert (S := Q y). auto_derive; [lra|]. field. lra.
Qed.
Theorem kldpg_descends : forall (ys : list Y) th d base valid, ys <> [] ->
  sum ys (fun y => softmax ys th y * ((filtered ys base valid y / softmax ys th y - 1) *
    Derive (fun t => ln (moved ys th d t y)) 0)) =
  - Derive (fun t => kl ys (filtered ys base valid) (moved ys th d t)) 0.
Proof.
  intros ys th d a v N. rewrite forward_slope, Ropp_involutive by exact N. destruct (softmax_law ys th N) as [_ Q].
  transitivity (sum ys (fun y => filtered ys a v y * score ys th d y) + -1 * sum ys (fun y => softmax ys th y * score ys th d y));
    [|rewrite mean_score by exact N; ring].
  rewrite <- sum_scale, <- sum_plus. apply sum_ext. intros y _. rewrite log_score by exact N. assert (S := Q y). field. lra.
Qed.
(* An entropy bonus. *)
Lemma mass_slope : forall (ys : list Y) th d valid, ys <> [] -> Derive (fun t => mass ys (moved ys th d t) valid) 0 =
  sum ys (fun y => softmax ys th y * score ys th d y * one (valid y)).
Proof.
  intros ys th d v N. unfold mass. apply (derive_sum_along ys th d (fun y p => one (v y) * p) (fun y => one (v y)) N).
  intros y _. auto_derive; [auto|ring].
Qed.
(* The update of E v - beta KL in logits, and how it answers a push from the law. *)
Definition update (ys : list Y) (base : Y -> R) (valid : Y -> bool) (beta : R) (q : Y -> R) (y : Y) : R :=
  let gain := fun z => one (valid z) - beta * (ln (q z) - ln (base z)) in
  q y * (gain y - sum ys (fun z => q z * gain z)).
Theorem relaxation : forall (ys : list Y) base valid beta th d, ys <> [] -> law ys base -> positive ys base -> 0 < beta ->
  (forall e, Derive (fun t => mass ys (moved ys th e t) valid - beta * kl ys (moved ys th e t) base) 0 =
    sum ys (fun y => e y * update ys base valid beta (softmax ys th) y)) /\
  ((forall y, In y ys -> softmax ys th y = tilted ys base valid beta y) -> forall y, In y ys ->
    Derive (fun t => update ys base valid beta (moved ys th d t) y) 0 / beta =
    - (softmax ys th y * (d y - sum ys (fun z => softmax ys th z * d z)))).
Proof.
  intros ys a v b th d N L P Hb. destruct (softmax_law ys th N) as [[_ S] Q]. set (q := softmax ys th) in *.
  set (gain := fun z => one (v z) - b * (ln (q z) - ln (a z))). split.
  - intro e. rewrite (Derive_ext _ (fun t => sum ys (fun y => one (v y) * moved ys th e t y
      - b * (moved ys th e t y * (ln (moved ys th e t y) - ln (a y)))))) by (intro t; unfold mass, kl; rewrite sum_minus, sum_scale; reflexivity).
    rewrite (derive_sum_along ys th e (fun y p => one (v y) * p - b * (p * (ln p - ln (a y)))) (fun y => gain y - b) N).
    + fold q. rewrite (sum_ext ys _ (fun y => (q y * e y * gain y - sum ys (fun z => q z * e z) * (q y * gain y)) - b * (q y * score ys th e y)))
        by (intros; unfold score; fold q; ring).
      assert (MS := mean_score ys th e N). fold q in MS. rewrite sum_minus, sum_scale, MS, sum_minus, sum_scale.
      rewrite (sum_ext ys (fun y => e y * _) (fun y => q y * e y * gain y - sum ys (fun z => q z * gain z) * (q y * e y)))
        by (intros; unfold update, gain; ring).
      rewrite sum_minus, sum_scale. ring.
    + intros y I. assert (A := Q y). unfold gain. auto_derive; [exact A|]. fold q. field. lra.
  - intros T y I.
    assert (C : forall z, In z ys -> gain z = b * ln (normaliser (mass ys a v) b)).
    { intros z J. assert (A := P z J). assert (Z := normaliser_positive _ b (mass_bounds ys a v L)). unfold gain. rewrite (T z J).
      unfold tilted. rewrite tilted_sum by exact L. rewrite ln_quotient, ln_mult, ln_exp by (auto using exp_pos, Rmult_lt_0_compat).
      field. lra. }
    set (c := b * ln (normaliser (mass ys a v) b)) in *.
    assert (G : forall z, In z ys -> is_derive (fun t => one (v z) - b * (ln (moved ys th d t z) - ln (a z))) 0 (- b * score ys th d z)).
    { intros z J. assert (A := Q z). evar_last; [apply (chain ys th d z (fun p => one (v z) - b * (ln p - ln (a z))) (- b / q z) N)|].
      - auto_derive; [exact A|]. fold q. field. lra.
      - fold q. field. lra. }
    assert (H : forall z, In z ys -> is_derive (fun t => moved ys th d t z * (one (v z) - b * (ln (moved ys th d t z) - ln (a z)))) 0
      (q z * score ys th d z * c - b * (q z * score ys th d z))).
    { intros z J. evar_last; [apply (is_derive_mult (fun t => moved ys th d t z) _ 0 _ _ (moved_derive ys th d z N) (G z J) Rmult_comm)|].
      cbv beta. rewrite moved_0. fold q (gain z). rewrite (C z J). unfold plus, mult; simpl. ring. }
    assert (M := sum_derive ys _ _ 0 H). rewrite sum_minus in M. assert (MS := mean_score ys th d N). fold q in MS.
    rewrite (sum_ext ys (fun z => q z * score ys th d z * c) (fun z => c * (q z * score ys th d z))), !sum_scale, MS in M by (intros; ring).
    apply Rmult_eq_reg_l with b; [|lra]. unfold Rdiv. rewrite (Rmult_comm (Derive _ _)), <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
    apply is_derive_unique. unfold update. evar_last; [apply (is_derive_mult (fun t => moved ys th d t y) _ 0 _ _ (moved_derive ys th d y N)
      (is_derive_minus _ _ 0 _ _ (G y I) M) Rmult_comm)|].
    unfold minus, plus, opp, mult; simpl. rewrite moved_0. fold q. fold (gain y).
    rewrite (sum_ext ys _ (fun z => c * q z)) by (intros z J; rewrite moved_0; fold q (gain z); rewrite (C z J); ring).
    rewrite sum_scale, S, (C y I). unfold score. fold q. ring.
Qed.
End Pulls.
