(* The natural gradient of the expected reward, with and without a reverse KL penalty, in continuous time. *)
Require Import Reals List Lra. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Pinsker KLControl Frontier Limits Updates.
Import ListNotations. Open Scope R_scope.

Lemma constant_path : forall f t, 0 <= t -> (forall s, 0 <= s <= t -> is_derive f s 0) -> f t = f 0.
Proof. intros f t L D. symmetry. apply (rising f (fun _ => 0) 0 t L); auto. intros; lra. Qed.
Lemma softmax_of_differences {Y} : forall (ys : list Y) th th' y, In y ys ->
  (forall z, In z ys -> th z - th y = th' z - th' y) -> softmax ys th y = softmax ys th' y.
Proof.
  intros ys th th' y I E. unfold softmax. assert (F : sum ys (fun z => exp (th z)) = exp (th y - th' y) * sum ys (fun z => exp (th' z))).
  { rewrite <- sum_scale. apply sum_ext. intros z J. rewrite <- exp_plus. f_equal. specialize (E z J). lra. }
  rewrite F. replace (exp (th y)) with (exp (th y - th' y) * exp (th' y)) by (rewrite <- exp_plus; f_equal; ring).
  assert (P := exp_pos (th y - th' y)). assert (Q := exp_sum_positive ys th' ltac:(destruct ys; [contradiction|discriminate])).
  field. lra.
Qed.
Lemma derive_gap : forall f g s a b c, is_derive f s a -> is_derive g s b ->
  is_derive (fun x => f x - g x - x * c) s (a - b - c).
Proof.
  intros f g s a b c F G. assert (E := is_derive_unique _ _ _ F). assert (E' := is_derive_unique _ _ _ G).
  auto_derive; [split; [exists a; exact F|split; [exists b; exact G|exact I]]|].
  change (Derive (fun x => f x)) with (Derive f). change (Derive (fun x => g x)) with (Derive g). rewrite E, E'. ring.
Qed.
Lemma derive_less : forall f g s a b c, is_derive f s a -> is_derive g s b ->
  is_derive (fun x => f x - g x - c) s (a - b).
Proof.
  intros f g s a b c F G. assert (E := is_derive_unique _ _ _ F). assert (E' := is_derive_unique _ _ _ G).
  auto_derive; [split; [exists a; exact F|split; [exists b; exact G|exact I]]|].
  change (Derive (fun x => f x)) with (Derive f). change (Derive (fun x => g x)) with (Derive g). rewrite E, E'. ring.
Qed.
(* Where x' = b (w - x), e^(bs) (x - w) is constant. *)
Lemma exp_moves : forall x b w k s, is_derive x s (b * (w - x s)) -> is_derive (fun r => exp (b * r) * (x r - w) + k) s 0.
Proof.
  intros x b w k s F. assert (E := is_derive_unique _ _ _ F). auto_derive; [exists (b * (w - x s)); exact F|].
  change (Derive (fun r => x r)) with (Derive x). rewrite E. ring.
Qed.
(* The logits of the tilted model of 1/beta = gain. *)
Definition tilted_logits {Y : Type} (a : Y -> R) (v : Y -> bool) (gain : R) (y : Y) : R := ln (a y) + gain * one (v y).
Lemma tilted_softmax {Y} : forall (ys : list Y) a v gain y, positive ys a -> 0 < gain -> In y ys ->
  softmax ys (tilted_logits a v gain) y = tilted ys a v (1 / gain) y.
Proof.
  intros ys a v g y P G I. unfold softmax, tilted, tilted_logits.
  assert (E : forall z, In z ys -> exp (ln (a z) + g * one (v z)) = a z * exp (one (v z) / (1 / g))).
  { intros z J. rewrite exp_plus, exp_ln by (apply P, J). f_equal. f_equal. field. lra. }
  rewrite (E y I), (sum_ext ys _ _ E). reflexivity.
Qed.
(* With the Fisher information F of the softmax, d F (v - V) is the slope of E_q v along every direction d. *)
Theorem natural_field {Y} : forall (ys : list Y) th d valid, ys <> [] ->
  let q := softmax ys th in let V := mass ys q valid in
  sum ys (fun y => q y * score ys th d y * score ys th (fun z => one (valid z) - V) y) =
    sum ys (fun y => d y * (q y * (one (valid y) - V))) /\
  sum ys (fun y => d y * (q y * (one (valid y) - V))) = Derive (fun t => mass ys (moved ys th d t) valid) 0.
Proof.
  intros ys th d v N q V. destruct (softmax_law ys th N) as [[_ S] Q]. assert (M := mean_score ys th d N). fold q in M, S.
  assert (Z : sum ys (fun z => q z * (one (v z) - V)) = 0).
  { rewrite (sum_ext ys _ (fun z => one (v z) * q z - V * q z)) by (intros; ring).
    rewrite sum_minus, sum_scale, S. fold (mass ys q v). unfold V. ring. }
  assert (G : sum ys (fun y => q y * score ys th d y * (one (v y) - V)) = sum ys (fun y => d y * (q y * (one (v y) - V)))).
  { unfold score. fold q. set (D := sum ys (fun z => q z * d z)).
    rewrite (sum_ext ys _ (fun y => d y * (q y * (one (v y) - V)) - D * (q y * (one (v y) - V)))) by (intros; ring).
    rewrite sum_minus, sum_scale, Z. ring. }
  split.
  - rewrite <- G. apply sum_ext. intros y _. unfold score at 2. fold q. rewrite Z. ring.
  - rewrite <- (every_baseline ys th d v V N), <- G. apply sum_ext. intros y I. fold q. unfold q. assert (P := Q y).
    rewrite (derive_along ys th d y ln (/ softmax ys th y) N); [field; lra|auto_derive; [lra|field; lra]].
Qed.
(* d theta_y/dt = v_y - V; with r = v - beta log (q/a), d theta_y/dt = r_y - E_q r. *)
Definition natural_flow {Y : Type} (ys : list Y) (a : Y -> R) (v : Y -> bool) (theta : R -> Y -> R) : Prop :=
  (forall y, In y ys -> theta 0 y = ln (a y)) /\ (forall t, 0 <= t -> forall y, In y ys ->
    is_derive (fun s => theta s y) t (one (v y) - mass ys (softmax ys (theta t)) v)).
Definition penalised {Y : Type} (a : Y -> R) (v : Y -> bool) (beta : R) (q : Y -> R) (y : Y) : R :=
  one (v y) - beta * ln (q y / a y).
Definition penalised_flow {Y : Type} (ys : list Y) (a : Y -> R) (v : Y -> bool) (beta : R) (theta : R -> Y -> R) : Prop :=
  (forall y, In y ys -> theta 0 y = ln (a y)) /\ (forall t, 0 <= t -> forall y, In y ys ->
    let q := softmax ys (theta t) in
    is_derive (fun s => theta s y) t (penalised a v beta q y - sum ys (fun z => q z * penalised a v beta q z))).
Theorem natural_path {Y} : forall (ys : list Y) base valid theta t, positive ys base -> natural_flow ys base valid theta ->
  0 < t -> forall y, In y ys -> softmax ys (theta t) y = tilted ys base valid (1 / t) y.
Proof.
  intros ys a v th t P [S F] T y I. rewrite <- tilted_softmax by auto. apply softmax_of_differences; auto.
  intros z J. unfold tilted_logits.
  assert (E := constant_path (fun s => th s z - th s y - s * (one (v z) - one (v y))) t ltac:(lra)). cbv beta in E.
  rewrite !S in E by auto. lapply E; [lra|]. clear E. intros s H.
  replace 0 with (one (v z) - mass ys (softmax ys (th s)) v - (one (v y) - mass ys (softmax ys (th s)) v) - (one (v z) - one (v y))) by ring.
  apply derive_gap; apply F; auto; lra.
Qed.
Definition delayed (beta t : R) : R := (1 - exp (- beta * t)) / beta.
Lemma delayed_positive : forall beta t, 0 < beta -> 0 < t -> 0 < delayed beta t <= t.
Proof.
  intros b t B T. assert (E := exp_ineq1_le (- b * t)). split.
  - apply Rdiv_lt_0_compat; [|exact B]. assert (exp (- b * t) < exp 0) by (apply exp_increasing; nra). rewrite exp_0 in *. lra.
  - unfold delayed. apply Rmult_le_reg_r with b; [exact B|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.
Theorem penalised_path {Y} : forall (ys : list Y) base valid beta theta t, positive ys base ->
  penalised_flow ys base valid beta theta -> 0 < beta -> 0 < t -> forall y, In y ys ->
  softmax ys (theta t) y = tilted ys base valid (1 / delayed beta t) y.
Proof.
  intros ys a v b th t P [S F] B T y I. assert (G := delayed_positive b t B T). rewrite <- tilted_softmax by (auto; apply G).
  apply softmax_of_differences; auto. intros z J. unfold tilted_logits. set (c := one (v z) - one (v y)).
  set (gap := fun s => th s z - th s y - (ln (a z) - ln (a y))).
  assert (E := constant_path (fun s => exp (b * s) * (gap s - c / b) + c / b) t ltac:(lra)). cbv beta in E.
  assert (Z : gap 0 = 0) by (unfold gap; rewrite !S by auto; ring). rewrite Z, Rmult_0_r, exp_0 in E.
  assert (W : gap t = c * delayed b t).
  { assert (X := exp_pos (b * t)). apply Rmult_eq_reg_l with (exp (b * t)); [|lra].
    unfold delayed. replace (- b * t) with (- (b * t)) by ring. rewrite exp_Ropp.
    replace (exp (b * t) * (c * ((1 - / exp (b * t)) / b))) with (exp (b * t) * (c / b) - c / b) by (field; lra).
    rewrite <- (Rplus_0_r (exp (b * t) * gap t)). rewrite Rmult_minus_distr_l in E. lapply E; [lra|]. clear E.
    intros s H. apply exp_moves. unfold gap.
    assert (N : ys <> []) by (destruct ys; [contradiction|discriminate]). destruct (softmax_law ys (th s) N) as [_ Q].
    set (q := softmax ys (th s)) in *. set (m := sum ys (fun w => q w * penalised a v b q w)).
    replace (b * (c / b - (th s z - th s y - (ln (a z) - ln (a y))))) with (penalised a v b q z - m - (penalised a v b q y - m)).
    - apply derive_less; apply F; auto; lra.
    - unfold penalised. rewrite !ln_quotient by auto. unfold q, softmax. rewrite !ln_quotient, !ln_exp; auto using exp_pos, exp_sum_positive.
      unfold c. field. lra. }
  unfold gap in W. unfold c in W. lra.
Qed.
(* Less of the base is lost, at every time. *)
Lemma lost {Y} : forall (ys : list Y) a v g, law ys a -> positive ys a -> 0 < g ->
  kl ys a (tilted ys a v (1 / g)) = ln (normaliser (mass ys a v) (1 / g)) - mass ys a v * g.
Proof.
  intros ys a v g L P G. rewrite kl_to_tilted by auto. destruct (kl_nonneg ys a a L L (fun y _ H => H)) as [_ Z].
  rewrite (proj2 Z) by auto. field. lra.
Qed.
Lemma lost_rises : forall m g h, 0 <= m <= 1 -> 0 < g <= h ->
  ln (normaliser m (1 / g)) - m * g <= ln (normaliser m (1 / h)) - m * h.
Proof.
  intros m g h M G. set (f := fun g => ln (1 - m + m * exp g) - m * g).
  assert (E : forall x, 0 < x -> ln (normaliser m (1 / x)) - m * x = f x).
  { intros x X. unfold f, normaliser. replace (1 / (1 / x)) with x by (field; lra). reflexivity. }
  rewrite !E by lra. assert (Z : forall x, 0 < 1 - m + m * exp x).
  { intro x. assert (X := exp_pos x). destruct (Req_dec m 0); nra. }
  apply (rising f (fun x => m * exp x / (1 - m + m * exp x) - m) g h); [lra| |]; intros x H; specialize (Z x).
  - unfold f. auto_derive; [exact Z|]. change (1 + - m) with (1 - m). field. lra.
  - assert (1 < exp x) by (rewrite <- exp_0; apply exp_increasing; lra).
    replace (m * exp x / (1 - m + m * exp x) - m) with (m * (1 - m) * (exp x - 1) / (1 - m + m * exp x)) by (field; lra).
    apply Rdiv_le_0_compat; [|exact Z]. apply Rmult_le_pos; [|lra]. apply Rmult_le_pos; lra.
Qed.
Theorem penalty_keeps_more {Y} : forall (ys : list Y) base valid beta theta free t, law ys base -> positive ys base ->
  penalised_flow ys base valid beta theta -> natural_flow ys base valid free -> 0 < beta -> 0 < t ->
  kl ys base (softmax ys (theta t)) <= kl ys base (softmax ys (free t)).
Proof.
  intros ys a v b th fr t L P F G B T. assert (D := delayed_positive b t B T).
  assert (X : forall q p, (forall y, In y ys -> q y = p y) -> kl ys a q = kl ys a p).
  { intros q p E. apply sum_ext. intros y I. rewrite (E y I). reflexivity. }
  rewrite (X _ _ (penalised_path ys a v b th t P F B T)), (X _ _ (natural_path ys a v fr t P G T)).
  rewrite !lost by (auto; lra). apply lost_rises; [apply mass_bounds, L|exact D].
Qed.
Theorem shares_stay {Y} : forall (ys : list Y) base valid beta, law ys base -> 0 < mass ys base valid < 1 ->
  forall y, In y ys -> filtered ys (tilted ys base valid beta) valid y = filtered ys base valid y.
Proof.
  intros ys a v b L M y I. unfold filtered. rewrite mass_tilted by exact L. rewrite tilted_is by exact L.
  assert (X := exp_pos (1 / b)). assert (Z := normaliser_positive (mass ys a v) b ltac:(lra)).
  destruct (v y); simpl; field; lra.
Qed.
Theorem natural_limit {Y} : forall (ys : list Y) base valid t, law ys base -> 0 < mass ys base valid < 1 -> 0 < t ->
  tv ys (tilted ys base valid (1 / t)) (filtered ys base valid) <=
  (1 - mass ys base valid) / mass ys base valid * exp (- t).
Proof.
  intros ys a v t L M T. assert (B : 0 < 1 / t) by (apply Rdiv_lt_0_compat; lra). rewrite variation by auto.
  destruct (invalid_left (mass ys a v) (1 / t) M B) as (_ & H & _).
  replace (1 / (1 / t)) with t in * by (field; lra). exact H.
Qed.
(* Both flows exist. *)
Definition flow {Y : Type} (ys : list Y) (a : Y -> R) (v : Y -> bool) (gain : R -> R) (t : R) (y : Y) : R :=
  ln (a y) + gain t * one (v y) - ln (1 - mass ys a v + mass ys a v * exp (gain t)).
Lemma room : forall m x, 0 <= m <= 1 -> 0 < 1 - m + m * exp x.
Proof. intros m x M. assert (X := exp_pos x). destruct (Req_dec m 0); nra. Qed.
Lemma flow_is {Y} : forall (ys : list Y) a v gain t, law ys a -> positive ys a ->
  let Z := 1 - mass ys a v + mass ys a v * exp (gain t) in
  (forall y, In y ys -> softmax ys (flow ys a v gain t) y = a y * exp (gain t * one (v y)) / Z) /\
  mass ys (softmax ys (flow ys a v gain t)) v = mass ys a v * exp (gain t) / Z.
Proof.
  intros ys a v G t L P Z. assert (H : 0 < Z) by apply room, mass_bounds, L.
  assert (E : forall y, In y ys -> exp (flow ys a v G t y) = a y * (if v y then exp (G t) else 1) / Z).
  { intros y I. unfold flow, Rminus. rewrite !exp_plus, exp_Ropp, !exp_ln by (auto; exact H).
    unfold Rdiv. f_equal. f_equal. destruct (v y); simpl; [f_equal; ring|rewrite Rmult_0_r; apply exp_0]. }
  assert (S : sum ys (fun z => exp (flow ys a v G t z)) = 1).
  { rewrite (sum_ext ys _ (fun y => / Z * (a y * (if v y then exp (G t) else 1)))) by (intros; rewrite E by auto; unfold Rdiv; ring).
    rewrite sum_scale, sum_of_verdicts, (proj2 L). unfold Z in *. field. lra. }
  assert (Q : forall y, In y ys -> softmax ys (flow ys a v G t) y = a y * (if v y then exp (G t) else 1) / Z).
  { intros y I. unfold softmax. rewrite S, E by exact I. field. lra. }
  split.
  - intros y I. rewrite Q by exact I. destruct (v y); simpl; [rewrite Rmult_1_r|rewrite Rmult_0_r, exp_0]; reflexivity.
  - unfold mass at 1. rewrite (sum_ext ys _ (fun y => exp (G t) / Z * (one (v y) * a y))).
    + rewrite sum_scale. fold (mass ys a v). field. lra.
    + intros y I. rewrite Q by exact I. destruct (v y); simpl; field; lra.
Qed.
Lemma flow_moves {Y} : forall (ys : list Y) a v gain slope t y, law ys a -> is_derive gain t slope ->
  is_derive (fun s => flow ys a v gain s y) t
    (slope * (one (v y) - mass ys a v * exp (gain t) / (1 - mass ys a v + mass ys a v * exp (gain t)))).
Proof.
  intros ys a v G g t y L D. assert (E := is_derive_unique _ _ _ D). assert (H := room (mass ys a v) (G t) (mass_bounds ys a v L)).
  unfold flow. auto_derive; [repeat split; try exact H; exists g; exact D|].
  change (Derive (fun s => G s)) with (Derive G). rewrite E. change (1 + - mass ys a v) with (1 - mass ys a v). field. lra.
Qed.
Lemma natural_flow_is {Y} : forall (ys : list Y) a v, law ys a -> positive ys a ->
  natural_flow ys a v (flow ys a v (fun t => t)).
Proof.
  intros ys a v L P. split.
  - intros y _. unfold flow. rewrite exp_0. replace (1 - mass ys a v + mass ys a v * 1) with 1 by ring. rewrite ln_1. ring.
  - intros t T y I. rewrite (proj2 (flow_is ys a v (fun t => t) t L P)). evar_last; [apply flow_moves; [exact L|apply is_derive_id]|].
    unfold Hierarchy.one; simpl. ring.
Qed.
Lemma penalised_flow_is {Y} : forall (ys : list Y) a v beta, law ys a -> positive ys a -> 0 < beta ->
  penalised_flow ys a v beta (flow ys a v (delayed beta)).
Proof.
  intros ys a v b L P B. split.
  - intros y _. unfold flow, delayed. rewrite Rmult_0_r, exp_0. replace ((1 - 1) / b) with 0 by (field; lra). rewrite exp_0.
    replace (1 - mass ys a v + mass ys a v * 1) with 1 by ring. rewrite ln_1. ring.
  - intros t T y I q. destruct (flow_is ys a v (delayed b) t L P) as [Q M]. fold q in Q, M.
    set (Z := 1 - mass ys a v + mass ys a v * exp (delayed b t)) in *. assert (H : 0 < Z) by apply room, mass_bounds, L.
    assert (X : forall z, In z ys -> penalised a v b q z = (1 - b * delayed b t) * one (v z) + b * ln Z).
    { intros z J. unfold penalised. rewrite Q by exact J. assert (A := P z J). replace (a z * exp (delayed b t * one (v z)) / Z / a z)
        with (exp (delayed b t * one (v z)) / Z) by (field; lra). rewrite ln_quotient, ln_exp by (auto using exp_pos). ring. }
    rewrite (X y I), (sum_ext ys _ (fun z => (1 - b * delayed b t) * (one (v z) * q z) + b * ln Z * q z))
      by (intros z J; rewrite (X z J); ring).
    assert (N : ys <> []) by (destruct ys; [contradiction|discriminate]). destruct (softmax_law ys (flow ys a v (delayed b) t) N) as [[_ S] _].
    rewrite sum_plus, !sum_scale. fold (mass ys q v). fold q in S. rewrite M, S.
    evar_last; [apply (flow_moves ys a v (delayed b) (exp (- b * t))); [exact L|]|].
    + unfold delayed. auto_derive; [lra|]. field. lra.
    + fold Z. unfold delayed. field. lra.
Qed.
