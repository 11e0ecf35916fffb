(* How the alpha family tends to its ends: to both KLs, to KL-DPG and to a cost of wrong answers without end. *)
Require Import Reals List Lra. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws KLControl Frontier Divergences Generators Analysis Selection.
Import ListNotations. Open Scope R_scope.
Definition far_logs {Y : Type} (ys : list Y) (pi ref : Y -> R) : R := sum ys (fun y => Rmax (pi y) (ref y) * ln (pi y / ref y) ^ 2).
Lemma alpha_to_forward {Y} : forall (ys : list Y) pi ref al, law ys pi -> law ys ref -> positive ys pi -> positive ys ref ->
  0 < al < 1 -> 0 <= kl ys ref pi - al * divergence ys (alpha_form al) pi ref <= (1 - al) / 2 * far_logs ys pi ref.
Proof.
  intros ys pi ref al [_ S] [_ T] P Q Ha. set (e := 1 - al). assert (He : 0 < e < 1) by (unfold e; lra).
  set (x := fun y => ln (pi y / ref y)).
  assert (E : kl ys ref pi - al * divergence ys (alpha_form al) pi ref = sum ys (fun y => ref y * ((exp (e * x y) - 1) / e - x y))).
  { transitivity (sum ys (fun y => ref y * ((exp (e * x y) - 1) / e - x y)) + (sum ys ref - sum ys pi)); [|rewrite S, T; ring].
    unfold kl, divergence. rewrite <- sum_scale, <- !sum_minus, <- sum_plus. apply sum_ext. intros y I.
    assert (A := P y I). assert (B := Q y I). unfold alpha_form, Rpower. fold e (x y).
    replace (ln (ref y) - ln (pi y)) with (- x y) by (unfold x; rewrite ln_quotient by auto; ring).
    replace (al - 1) with (- e) by (unfold e; ring). replace al with (1 - e) by (unfold e; ring). field. lra. }
  assert (bound : forall y, In y ys -> 0 <= ref y * ((exp (e * x y) - 1) / e - x y) <= e / 2 * (Rmax (pi y) (ref y) * x y ^ 2)).
  { intros y I. assert (A := P y I). assert (B := Q y I). destruct (exp_line (e * x y)) as [L U].
    assert (X : exp (x y) = pi y / ref y) by (apply exp_ln, Rdiv_lt_0_compat; auto).
    replace ((exp (e * x y) - 1) / e - x y) with ((exp (e * x y) - 1 - e * x y) / e) by (field; lra). split.
    - apply Rmult_le_pos; [lra|]. apply Rdiv_le_0_compat; lra.
    - assert (M : ref y * Rmax 1 (exp (e * x y)) <= Rmax (pi y) (ref y)).
      { rewrite <- RmaxRmult by lra. rewrite Rmult_1_r. apply Rmax_lub; [apply Rmax_r|]. destruct (Rle_or_lt 0 (x y)) as [G|G].
        - apply Rle_trans with (pi y); [|apply Rmax_l]. replace (pi y) with (ref y * (pi y / ref y)) by (field; lra).
          apply Rmult_le_compat_l; [lra|]. rewrite <- X. apply exp_le. nra.
        - apply Rle_trans with (ref y); [|apply Rmax_r]. assert (H := exp_le (e * x y) 0 ltac:(nra)). rewrite exp_0 in H. nra. }
      apply Rle_trans with (ref y * ((e * x y) ^ 2 / 2 * Rmax 1 (exp (e * x y)) / e)).
      + apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|exact U].
      + replace (ref y * ((e * x y) ^ 2 / 2 * Rmax 1 (exp (e * x y)) / e)) with (e / 2 * x y ^ 2 * (ref y * Rmax 1 (exp (e * x y)))) by (field; lra).
        replace (e / 2 * (Rmax (pi y) (ref y) * x y ^ 2)) with (e / 2 * x y ^ 2 * Rmax (pi y) (ref y)) by ring.
        apply Rmult_le_compat_l; [|exact M]. assert (Z := pow2_ge_0 (x y)). nra. }
  rewrite E. split; [apply sum_nonneg; intros y I; apply bound, I|]. unfold far_logs. fold e. rewrite <- sum_scale.
  apply sum_le. intros y I. apply bound, I.
Qed.
Theorem alpha_ends {Y} : forall (ys : list Y) pi ref al, law ys pi -> law ys ref -> positive ys pi -> positive ys ref -> 0 < al < 1 ->
  Rabs (kl ys ref pi - al * divergence ys (alpha_form al) pi ref) <= (1 - al) / 2 * far_logs ys pi ref /\
  Rabs (kl ys pi ref - (1 - al) * divergence ys (alpha_form al) pi ref) <= al / 2 * far_logs ys pi ref.
Proof.
  intros ys pi ref al Lp Lr P Q Ha. split.
  - destruct (alpha_to_forward ys pi ref al Lp Lr P Q Ha) as [L U]. rewrite Rabs_right by lra. exact U.
  - destruct (alpha_to_forward ys ref pi (1 - al) Lr Lp Q P ltac:(lra)) as [L U].
    assert (E : divergence ys (alpha_form (1 - al)) ref pi = divergence ys (alpha_form al) pi ref).
    { rewrite (reversal ys (alpha_form al) pi ref P Q). apply sum_ext. intros y I. f_equal. symmetry. apply reversed_alpha; [|lra|lra].
      apply Rdiv_lt_0_compat; auto. }
    assert (F : far_logs ys ref pi = far_logs ys pi ref).
    { apply sum_ext. intros y I. rewrite Rmax_comm, !ln_quotient by auto. ring. }
    rewrite E, F in *. rewrite Rabs_right by lra. replace (1 - (1 - al)) with al in U by ring. exact U.
Qed.
Theorem reward_rate {Y} : forall (pi target : Y -> R) al y, 0 < pi y -> 0 < target y -> 0 < al <= 1 -> let z := target y / pi y in
  Rabs (dpg_reward al pi target y - (z - 1)) <= (1 - al) * (ln z ^ 2 / 2) * Rmax 1 z.
Proof.
  intros pi g al y P Q Ha z. assert (Z : 0 < z) by (apply Rdiv_lt_0_compat; auto). destruct (power_rate al (ln z) Ha) as [L U].
  rewrite exp_ln in L, U by exact Z. unfold dpg_reward. fold z. rewrite power_positive by exact Z. unfold Rpower.
  rewrite Rabs_left1 by lra. lra.
Qed.
(* The weighted geometric mean is at most the arithmetic one. *)
Lemma power_below : forall p q al, 0 < p -> 0 < q -> 0 <= al <= 1 -> Rpower p (1 - al) * Rpower q al <= (1 - al) * p + al * q.
Proof.
  intros p q al P Q Ha. destruct (named_bent 2 forward (fun u => - / u) (fun u => / u ^ 2) ltac:(lra) ltac:(lra)) as [B _];
    [unfold named; simpl; left; reflexivity|].
  assert (C := chord _ _ _ p q al (proj1 (bent_curved _ _ _ B)) P Q Ha). unfold forward in C.
  unfold Rpower. rewrite <- exp_plus, <- (exp_ln ((1 - al) * p + al * q)) by nra. apply exp_le. lra.
Qed.
Theorem cost_of_the_invalid {Y} : forall (ys : list Y) pi base valid al, law ys pi -> positive ys pi -> law ys base -> positive ys base ->
  0 < mass ys base valid -> 0 < mass ys pi valid -> 0 < al < 1 ->
  let mu := mass ys pi valid in let target := filtered ys base valid in
  alpha_distance ys al pi target = (1 - Rpower mu (1 - al)) / (al * (1 - al))
    + Rpower mu (1 - al) * alpha_distance ys al (filtered ys pi valid) target /\
  (1 - mu) / al <= alpha_distance ys al pi target.
Proof.
  intros ys pi a v al Lp Pp La Pa Ma M Ha mu g. set (s := Rpower mu (1 - al)). set (inside := filtered ys pi v).
  assert (E : forall y, In y ys -> power (pi y) (1 - al) * power (g y) al = s * (power (inside y) (1 - al) * power (g y) al)).
  { intros y I. destruct (v y) eqn:V; [|unfold g; rewrite (filtered_none ys a v y V), power_zero; ring].
    assert (A := Pp y I). assert (B := filtered_positive ys pi v y Pp M I V). fold inside in B.
    rewrite !(power_positive (pi y)), !(power_positive (inside y)) by auto. unfold s.
    rewrite <- Rmult_assoc, Rpower_mult_distr by auto. f_equal. f_equal. unfold inside, filtered. rewrite V. simpl. fold mu. field. unfold mu. lra. }
  assert (F : alpha_distance ys al pi g = (1 - s) / (al * (1 - al)) + s * alpha_distance ys al inside g).
  { unfold alpha_distance. rewrite (sum_ext ys _ _ E), sum_scale. field. lra. }
  split; [exact F|]. rewrite F.
  assert (N : 0 <= alpha_distance ys al inside g).
  { unfold alpha_distance. apply Rdiv_le_0_compat; [|nra]. assert (K : sum ys (fun y => power (inside y) (1 - al) * power (g y) al) <=
      sum ys (fun y => (1 - al) * inside y + al * g y)).
    { apply sum_le. intros y I. destruct (v y) eqn:V.
      - assert (B := filtered_positive ys pi v y Pp M I V). assert (C := filtered_positive ys a v y Pa Ma I V).
        unfold inside, g. rewrite !power_positive by auto. apply power_below; auto; lra.
      - unfold inside, g. rewrite !filtered_none, !power_zero by exact V. lra. }
    rewrite sum_plus, !sum_scale in K. unfold inside, g in K. rewrite (proj2 (filtered_law ys pi v Lp M)), (proj2 (filtered_law ys a v La Ma)) in K.
    unfold inside, g. lra. }
  assert (S0 : 0 <= s) by (apply Rlt_le, exp_pos).
  assert (C : s <= (1 - al) * mu + al * 1).
  { assert (H := power_below mu 1 al M Rlt_0_1 ltac:(lra)). unfold Rpower at 2 in H. rewrite ln_1, Rmult_0_r, exp_0, Rmult_1_r in H. exact H. }
  assert (D : (1 - mu) / al <= (1 - s) / (al * (1 - al))).
  { apply Rmult_le_reg_r with (al * (1 - al)); [nra|]. replace ((1 - mu) / al * (al * (1 - al))) with ((1 - mu) * (1 - al)) by (field; lra).
    replace ((1 - s) / (al * (1 - al)) * (al * (1 - al))) with (1 - s) by (field; lra). lra. }
  assert (0 <= s * alpha_distance ys al inside g) by (apply Rmult_le_pos; auto). lra.
Qed.
