(* At the law and near it: prompts that share a law, coefficients, groups, drift, clipping,
   annealing, weak penalties, the ends of group weights. *)
Require Import Reals List Lra Lia Arith. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws KLControl Frontier Divergences Generators Updates Coverage Prompts Groups Selection Forms.
Import ListNotations. Open Scope R_scope.
(* The law of any reward, and what another falls short of it. *)
Theorem any_reward {Y} : forall (ys : list Y) q base r beta, law ys q -> law ys base -> positive ys base -> 0 < beta ->
  let p := tilted_by ys base r beta in sum ys (fun y => q y * r y) - beta * kl ys q base =
    beta * ln (sum ys (fun y => base y * exp (r y / beta))) - beta * kl ys q p /\ law ys p /\ positive ys p.
Proof.
  intros ys q a r b Lq La Pa Hb p. set (Z := sum ys (fun y => a y * exp (r y / b))). assert (HZ : 0 < Z).
  { destruct ys as [|y0 ys]; [destruct La as [_ S]; simpl in S; lra|]. unfold Z. simpl.
    assert (0 < a y0 * exp (r y0 / b)) by (apply Rmult_lt_0_compat; [apply Pa; simpl; auto|apply exp_pos]).
    assert (0 <= sum ys (fun y => a y * exp (r y / b))); [|lra]. apply sum_nonneg. intros y I.
    apply Rlt_le, Rmult_lt_0_compat; [apply Pa; simpl; auto|apply exp_pos]. }
  assert (Pt : positive ys p).
  { intros y I. apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; [apply Pa, I|apply exp_pos]|exact HZ]. }
  split; [|split; [split; [intros y I; apply Rlt_le, Pt, I|]|exact Pt]].
  - rewrite <- (Rmult_1_r (ln Z)), <- (proj2 Lq). unfold kl. rewrite <- !sum_scale, <- !sum_minus. apply sum_ext. intros y I.
    assert (A := Pa y I). unfold p, tilted_by. fold Z. rewrite ln_quotient, ln_mult, ln_exp by (auto using exp_pos, Rmult_lt_0_compat).
    field. lra.
  - unfold p, tilted_by, Rdiv at 1. fold Z. rewrite (sum_ext ys _ (fun y => / Z * (a y * exp (r y / b)))) by (intros; ring).
    rewrite sum_scale. fold Z. field. lra.
Qed.
(* Prompts xs with verdicts v x; the policy cannot tell them apart. *)
Theorem one_law_for_all {X Y} : forall (xs : list X) (ys : list Y) (v : X -> Y -> bool) q base beta, law ys q -> law ys base ->
  positive ys base -> 0 < beta -> let mean := fun y => average xs (fun x => one (v x y)) in
  let total := sum ys (fun y => base y * exp (mean y / beta)) in
  average xs (fun x => mass ys q (v x)) / beta - kl ys q base = ln total - kl ys q (tilted_by ys base mean beta) /\
  average xs (fun x => mass ys q (v x)) - beta * kl ys q base = beta * ln total - beta * kl ys q (tilted_by ys base mean beta) /\
  (average xs (fun x => mass ys q (v x)) - beta * kl ys q base = beta * ln total <->
    forall y, In y ys -> q y = tilted_by ys base mean beta y).
Proof.
  intros xs ys v q a b Lq La Pa Hb mean Z. assert (M : average xs (fun x => mass ys q (v x)) = sum ys (fun y => q y * mean y)).
  { unfold mean, average, mass. rewrite Processing.sum_swap. unfold Rdiv. rewrite Rmult_comm, <- sum_scale. apply sum_ext.
    intros y _. rewrite (sum_ext xs _ (fun x => q y * one (v x y))) by (intros; ring). rewrite sum_scale. ring. }
  destruct (any_reward ys q a mean b Lq La Pa Hb) as (K2 & Lt & Pt). fold Z in K2. rewrite <- M in K2.
  assert (K : average xs (fun x => mass ys q (v x)) / b - kl ys q a = ln Z - kl ys q (tilted_by ys a mean b)).
  { apply (Rmult_eq_reg_l b); [|lra]. rewrite !Rmult_minus_distr_l, <- K2. field. lra. }
  destruct (kl_nonneg ys q _ Lq Lt (fun y I _ => Pt y I)) as [_ E].
  split; [exact K|]. split; [exact K2|]. rewrite <- E, K2. split; intro H; [|rewrite H; ring].
  assert (G : b * kl ys q (tilted_by ys a mean b) = 0) by lra. apply Rmult_integral in G. lra.
Qed.
Lemma penalised {Y} : forall (ys : list Y) base valid beta y, law ys base -> positive ys base -> 0 < beta -> In y ys ->
  one (valid y) - beta * ln (tilted ys base valid beta y / base y) = beta * ln (normaliser (mass ys base valid) beta).
Proof.
  intros ys a v b y L P Hb I. assert (A := P y I). assert (Z := normaliser_positive _ b (mass_bounds ys a v L)).
  unfold tilted. rewrite tilted_sum by exact L.
  replace (a y * exp (one (v y) / b) / normaliser (mass ys a v) b / a y) with (exp (one (v y) / b) / normaliser (mass ys a v) b) by (field; lra).
  rewrite ln_quotient, ln_exp by (auto using exp_pos). field. lra.
Qed.
Theorem coefficients {Y} : forall (ys : list Y) base valid beta y, law ys base -> positive ys base -> 0 < beta -> In y ys ->
  let p := tilted ys base valid beta in let reward := fun z => one (valid z) - beta * ln (p z / base z) in
  reward y - sum ys (fun z => p z * reward z) = 0 /\
  one (valid y) - mass ys p valid - beta * ln (p y / base y) = - (beta * kl ys p base).
Proof.
  intros ys a v b y L P Hb I p r. destruct (tilted_law ys a v b L P) as [Lt Pt]. fold p in Lt, Pt.
  assert (R0 : forall z, In z ys -> r z = b * ln (normaliser (mass ys a v) b)) by (intros z J; apply penalised; auto).
  split.
  - rewrite (R0 y I), (sum_ext ys _ (fun z => b * ln (normaliser (mass ys a v) b) * p z)) by (intros z J; rewrite (R0 z J); ring).
    rewrite sum_scale, (proj2 Lt). ring.
  - assert (I1 := control_identity ys p a v b Lt L P Hb). destruct (kl_nonneg ys p p Lt Lt (fun z _ H => H)) as [_ E].
    fold p in I1. rewrite (proj2 E) in I1 by auto. assert (H := R0 y I). unfold r in H. lra.
Qed.
(* A group of answers; means and deviations within it. *)
Definition deviation {Y : Type} (g : list Y) (x : Y -> R) : R := sqrt (average g (fun y => (x y - average g x) ^ 2)).
Lemma deviation_scale {Y} : forall (g : list Y) x r c k, (forall y, In y g -> r y = k + c * x y) -> g <> [] ->
  average g r = k + c * average g x /\ deviation g r = Rabs c * deviation g x.
Proof.
  intros g x r c k H N. assert (L : 0 < INR (length g)) by (destruct g; [contradiction|apply lt_0_INR; simpl; lia]).
  assert (A : average g r = k + c * average g x).
  { unfold average. rewrite (sum_ext g r (fun y => k * 1 + c * x y)) by (intros y I; rewrite (H y I); ring).
    rewrite sum_plus, !sum_scale. assert (S : sum g (fun _ => 1) = INR (length g)).
    { clear. induction g as [|y g IH]; [reflexivity|]. cbn [sum length]. rewrite IH, S_INR. ring. }
    rewrite S. field. lra. }
  split; [exact A|]. unfold deviation. rewrite A. rewrite <- sqrt_Rsqr_abs, <- sqrt_mult_alt by apply Rle_0_sqr. f_equal.
  unfold average at 1 3. unfold Rdiv. rewrite <- Rmult_assoc, <- sum_scale. f_equal. apply sum_ext. intros y I. rewrite (H y I). unfold Rsqr. ring.
Qed.
Theorem trap {Y} : forall (ys : list Y) (group : list Y) base valid beta push away, law ys base -> positive ys base ->
  0 < beta -> 0 < away -> group <> [] -> (forall y, In y group -> In y ys) ->
  let p := tilted ys base valid beta in
  let pi := fun y => p y * exp (away * push y) / sum ys (fun z => p z * exp (away * push z)) in
  let r := fun y => one (valid y) - beta * ln (pi y / base y) in
  forall y, In y group ->
  (r y - average group r) * deviation group push = - (push y - average group push) * deviation group r /\
  (0 < deviation group push -> (r y - average group r) / deviation group r = - ((push y - average group push) / deviation group push)).
Proof.
  intros ys g a v b t e L P Hb He N In0 p pi r y I. destruct (tilted_law ys a v b L P) as [_ Pt]. fold p in Pt.
  set (Z := sum ys (fun z => p z * exp (e * t z))) in *. assert (HZ : 0 < Z).
  { destruct ys as [|y0 ys']; [destruct (In0 y I)|]. unfold Z. simpl.
    assert (0 < p y0 * exp (e * t y0)) by (apply Rmult_lt_0_compat; [apply Pt; simpl; auto|apply exp_pos]).
    assert (0 <= sum ys' (fun z => p z * exp (e * t z))); [|lra]. apply sum_nonneg. intros z J.
    apply Rlt_le, Rmult_lt_0_compat; [apply Pt; simpl; auto|apply exp_pos]. }
  assert (E : forall z, In z g -> r z = (b * ln (normaliser (mass ys a v) b) + b * ln Z) + - (b * e) * t z).
  { intros z J. assert (J' := In0 z J). assert (A := P z J'). assert (B := Pt z J'). assert (Q := penalised ys a v b z L P Hb J').
    fold p in Q. rewrite ln_quotient in Q by auto. unfold r, pi.
    rewrite ln_quotient, ln_quotient, ln_mult, ln_exp by (auto using exp_pos; try apply Rdiv_lt_0_compat; auto using Rmult_lt_0_compat, exp_pos). lra. }
  destruct (deviation_scale g t r _ _ E N) as [A D]. rewrite A, D, (E y I). assert (K : 0 < b * e) by (apply Rmult_lt_0_compat; auto).
  rewrite Rabs_Ropp, Rabs_right by lra. split; [ring|]. intro H. field. split; lra.
Qed.
Theorem motion {Y} : forall (ys : list Y) base valid beta y, law ys base -> positive ys base -> 0 < beta -> In y ys ->
  - (beta * Derive (fun b => ln (tilted ys base valid b y)) beta) = (one (valid y) - mass ys (tilted ys base valid beta) valid) / beta.
Proof.
  intros ys a v b y L P Hb I. assert (A := P y I). set (m := mass ys a v). assert (B := mass_bounds ys a v L). fold m in B.
  assert (E : forall x, ln (tilted ys a v x y) = ln (a y) + one (v y) / x - ln (normaliser m x)).
  { intro x. assert (Z := normaliser_positive m x B). unfold tilted. rewrite tilted_sum by exact L. fold m.
    rewrite ln_quotient, ln_mult, ln_exp by (auto using exp_pos, Rmult_lt_0_compat). ring. }
  rewrite (Derive_ext _ _ _ E), mass_tilted by exact L. fold m. assert (Z := normaliser_positive m b B).
  assert (D : is_derive (fun x => ln (a y) + one (v y) / x - ln (normaliser m x)) b
    (- (one (v y) / b ^ 2) + m * exp (1 / b) / b ^ 2 / normaliser m b)).
  { unfold normaliser in *. auto_derive; [repeat split; try lra; exact Z|]. unfold Rdiv in *. rewrite !Rmult_1_l in *. field. lra. }
  etransitivity; [apply (f_equal (fun x => - (b * x))), (is_derive_unique _ _ _ D)|]. field. lra.
Qed.
(* Two right answers pulled apart. *)
Definition apart (y z w : nat) : R := if Nat.eqb w y then 1 else if Nat.eqb w z then -1 else 0.
Theorem drift_of_a_draw : forall (ys : list nat) th valid c y z, NoDup ys -> In y ys -> In z ys -> y <> z ->
  valid y = true -> valid z = true ->
  (forall w, In w ys -> valid w = true -> softmax ys th w = mass ys (softmax ys th) valid / mass ys (fun _ => 1) valid) ->
  sum ys (fun w => softmax ys th w * ((one (valid w) - c) * Derive (fun t => ln (moved ys th (apart y z) t w)) 0) ^ 2) =
  2 * mass ys (softmax ys th) valid / mass ys (fun _ => 1) valid * (1 - c) ^ 2.
Proof.
  intros ys th v c y z N Iy Iz D Vy Vz H. assert (NE : ys <> []) by (intro E; rewrite E in Iy; destruct Iy).
  assert (Ey := H y Iy Vy). assert (Ez := H z Iz Vz). set (p := softmax ys th) in *. set (s := mass ys p v / mass ys (fun _ => 1) v) in *.
  assert (Ay : apart y z y = 1) by (unfold apart; rewrite Nat.eqb_refl; reflexivity).
  assert (Az : apart y z z = -1) by (unfold apart; rewrite (proj2 (Nat.eqb_neq z y)), Nat.eqb_refl by auto; reflexivity).
  assert (An : forall w, w <> y -> w <> z -> apart y z w = 0)
    by (intros w A B; unfold apart; rewrite (proj2 (Nat.eqb_neq w y)), (proj2 (Nat.eqb_neq w z)) by auto; reflexivity).
  assert (two_of : forall f : nat -> R, (forall w, w <> y -> w <> z -> f w = 0) -> sum ys f = f y + f z).
  { intros f F. assert (S := sum_of_two ys f (fun _ => 0) y z N Iy Iz D F). cbv beta in S.
    rewrite (sum_zero ys (fun _ => 0)) in S by auto. lra. }
  assert (M : sum ys (fun w => p w * apart y z w) = 0).
  { rewrite two_of; [rewrite Ay, Az, Ey, Ez; ring|]. intros w A B. rewrite (An w A B). ring. }
  assert (S : forall w, Derive (fun t => ln (moved ys th (apart y z) t w)) 0 = apart y z w).
  { intro w. rewrite log_score by exact NE. unfold score. fold p. rewrite M. ring. }
  rewrite (sum_ext ys _ (fun w => p w * ((one (v w) - c) * apart y z w) ^ 2)) by (intros; rewrite S; reflexivity).
  rewrite two_of; [|intros w A B; rewrite (An w A B); ring]. rewrite Ay, Az, Vy, Vz, Ey, Ez. simpl. unfold s, Rdiv. ring.
Qed.
(* The law stands under several steps on one batch, whatever is clipped. *)
Definition stopped (low high advantage ratio : R) : bool :=
  if Rlt_dec 0 advantage then (if Rlt_dec (1 + high) ratio then true else false) else (if Rlt_dec ratio (1 - low) then true else false).
Definition clipped_step {Y : Type} (ys : list Y) (base : Y -> R) (valid : Y -> bool) (beta eta low high : R) (old q : Y -> R) : Y -> R :=
  let advantage := fun y => one (valid y) - mass ys old valid - beta * ln (old y / base y) in
  let pull := fun y => if stopped low high (advantage y) (q y / old y) then 0 else q y * advantage y in
  let weight := fun y => q y * exp (eta * (pull y - q y * sum ys pull)) in fun y => weight y / sum ys weight.
Theorem clipping_leaves_the_law {Y} : forall (ys : list Y) base valid beta eta low high, law ys base -> positive ys base -> 0 < beta ->
  0 < low -> 0 < high -> let p := tilted ys base valid beta in
  forall k y, In y ys -> Nat.iter k (clipped_step ys base valid beta eta low high p) p y = p y.
Proof.
  intros ys a v b eta low high L P Hb Hl Hh p. destruct (tilted_law ys a v b L P) as [Lt Pt]. fold p in Lt, Pt.
  induction k as [|k IH]; intros y I; [reflexivity|]. simpl. set (q := Nat.iter k _ p) in *. unfold clipped_step.
  set (adv := fun y => one (v y) - mass ys p v - b * ln (p y / a y)). set (C := - (b * kl ys p a)).
  assert (A : forall z, In z ys -> adv z = C) by (intros z J; apply (coefficients ys a v b z L P Hb J)).
  assert (F : forall z, In z ys -> (if stopped low high (adv z) (q z / p z) then 0 else q z * adv z) = C * p z).
  { intros z J. rewrite (IH z J), (A z J). assert (H := Pt z J). replace (p z / p z) with 1 by (field; lra). unfold stopped.
    destruct (Rlt_dec 0 C); [destruct (Rlt_dec (1 + high) 1); [lra|ring]|destruct (Rlt_dec 1 (1 - low)); [lra|ring]]. }
  set (pull := fun y => if stopped low high (adv y) (q y / p y) then 0 else q y * adv y).
  assert (T : sum ys pull = C).
  { transitivity (sum ys (fun z => C * p z)); [apply sum_ext; exact F|]. rewrite sum_scale, (proj2 Lt). ring. }
  assert (W : forall z, In z ys -> q z * exp (eta * (pull z - q z * sum ys pull)) = p z).
  { intros z J. rewrite T. unfold pull. rewrite (F z J), (IH z J). replace (eta * (C * p z - p z * C)) with 0 by ring. rewrite exp_0. ring. }
  transitivity (p y / sum ys p); [|rewrite (proj2 Lt); field].
  cbv zeta. f_equal; [exact (W y I)|apply sum_ext; exact W].
Qed.
(* Forward KL lifts a rare success to 1 - eta, reverse KL by e^(1/eta). *)
Theorem weak_penalties : forall base_rate eta, 0 < base_rate < 1 -> 0 < eta ->
  let L := ((1 + eta) + sqrt ((1 + eta) ^ 2 - 4 * eta * (1 - base_rate))) / 2 in
  1 - eta <= eta * base_rate / (L - 1) - expit (logit base_rate + 1 / eta) + base_rate * exp (1 / eta).
Proof.
  intros r e Hr He L. destruct (forward_dial r e Hr He) as (_ & F & M). fold L in F, M. set (mu := e * r / (L - 1)) in *.
  assert (X := exp_ineq1_le (1 / e)). assert (Q : 0 < 1 / e) by (apply Rdiv_lt_0_compat; lra).
  assert (U : expit (logit r + 1 / e) <= r * exp (1 / e)).
  { rewrite expit_logit_plus by exact Hr. apply Rmult_le_reg_r with ((1 - r) + r * exp (1 / e)); [nra|]. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r by nra. assert (0 < r * exp (1 / e)) by (apply Rmult_lt_0_compat; lra). nra. }
  assert (V : 1 - mu <= e); [|lra]. assert (D : 0 <= (1 + e) ^ 2 - 4 * e * (1 - r)) by (assert (P := pow2_ge_0 (1 - e)); assert (0 < 4 * e * r) by nra; nra).
  assert (L0 : 1 - r <= L).
  { assert (K := sqrt_pos ((1 + e) ^ 2 - 4 * e * (1 - r))). set (s := sqrt _) in *.
    assert (E : s * s = (1 + e) ^ 2 - 4 * e * (1 - r)) by (apply sqrt_sqrt, D). unfold L. destruct (Rle_or_lt 1 e); [lra|].
    assert (1 - e <= s) by nra. lra. }
  rewrite F. apply Rmult_le_reg_r with L; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.
(* The weights of a group at rates near 0 and near 1. *)
Lemma weight_continuous : forall advantage G V, continuous (weight advantage G) V.
Proof.
  intros adv G V. apply (ex_derive_continuous (weight adv G)). unfold weight. eexists.
  apply (sum_derive (seq 0 G) (fun W k => Binomial.C (G - 1) k * W ^ k * (1 - W) ^ (G - 1 - k) * (adv G 1 (S k) - adv G 0 k))
    (fun k => Derive (fun W => Binomial.C (G - 1) k * W ^ k * (1 - W) ^ (G - 1 - k) * (adv G 1 (S k) - adv G 0 k)) V)).
  intros k _. apply Derive_correct. auto_derive. auto.
Qed.
Theorem ends : forall G, (2 <= G)%nat -> is_lim (weight by_deviation G) 0 ((INR G - 1) / sqrt (INR G)) /\
  is_lim (weight by_deviation G) 1 ((INR G - 1) / sqrt (INR G)).
Proof.
  intros G H. set (n := (G - 2)%nat). assert (EG : G = S (S n)) by (unfold n; lia). assert (P := lt_0_INR G ltac:(lia)).
  assert (P1 : 1 < INR G) by (apply (lt_INR 1); lia). assert (S0 := sqrt_lt_R0 _ P). assert (SS := sqrt_sqrt (INR G) ltac:(lra)).
  assert (D : INR (G - 1) = INR G - 1) by (rewrite minus_INR by lia; reflexivity).
  assert (dev : sqrt (1 * (INR G - 1) / (INR G * (INR G - 1))) = / sqrt (INR G)).
  { replace (1 * (INR G - 1) / (INR G * (INR G - 1))) with (/ INR G) by (field; lra). apply sqrt_inv. }
  assert (C0 : Binomial.C (G - 1) 0 = 1).
  { unfold Binomial.C. rewrite Nat.sub_0_r. simpl (fact 0). assert (F := INR_fact_neq_0 (G - 1)). simpl (INR 1). field. exact F. }
  assert (C1 : Binomial.C (G - 1) (G - 1) = 1).
  { unfold Binomial.C. rewrite Nat.sub_diag. simpl (fact 0). assert (F := INR_fact_neq_0 (G - 1)). simpl (INR 1). field. exact F. }
  assert (W0 : weight by_deviation G 0 = (INR G - 1) / sqrt (INR G)).
  { unfold weight. replace (seq 0 G) with (0%nat :: seq 1 (G - 1)) by (rewrite EG; simpl; rewrite ?Nat.sub_0_r; reflexivity).
    cbn [sum]. rewrite sum_zero.
    - rewrite C0, Rminus_0_r, pow1. unfold by_deviation. rewrite (proj2 (Nat.eqb_neq 1 G)) by lia. simpl (Nat.eqb 1 0). simpl (Nat.eqb 0 0).
      cbn [orb]. simpl (INR 1). rewrite D, dev. simpl (0 ^ 0).
      set (s := sqrt (INR G)) in *. rewrite <- SS. field. lra.
    - intros k I. apply in_seq in I. rewrite (pow_ne_zero k) by lia. ring. }
  assert (W1 : weight by_deviation G 1 = (INR G - 1) / sqrt (INR G)).
  { unfold weight. replace (seq 0 G) with (seq 0 (G - 1) ++ [(G - 1)%nat]).
    2: { rewrite EG. replace (S (S n) - 1)%nat with (S n) by lia. rewrite (seq_S (S n)). reflexivity. }
    rewrite sum_app, sum_zero.
    - cbn [sum]. rewrite C1, Nat.sub_diag, pow1. replace (S (G - 1)) with G by lia. unfold by_deviation.
      rewrite Nat.eqb_refl, Bool.orb_true_r, (proj2 (Nat.eqb_neq (G - 1) 0)), (proj2 (Nat.eqb_neq (G - 1) G)) by lia. cbn [orb].
      replace (G - (G - 1))%nat with 1%nat by lia. simpl (INR 1). rewrite D, (Rmult_comm (INR G - 1) 1), dev. simpl ((1 - 1) ^ 0).
      set (s := sqrt (INR G)) in *. rewrite <- SS. field. lra.
    - intros k I. apply in_seq in I. replace (1 - 1) with 0 by ring. rewrite (pow_ne_zero (G - 1 - k)) by lia. ring. }
  split; [rewrite <- W0|rewrite <- W1]; apply is_lim_continuity, continuity_pt_filterlim, weight_continuous.
Qed.
