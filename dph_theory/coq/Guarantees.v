(* What closeness to the filtered model guarantees: floors of shares, mean Pass@k, and what losing a strategy costs. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws KLControl Frontier Divergences Trees Processing Coverage.
Import ListNotations. Open Scope R_scope.

(* R1: a policy within e of ref keeps more than every share x that is further away. *)
Theorem share_floor {Y} : forall (ys : list Y) ref policy strategy x, law ys ref -> law ys policy -> covers ys policy ref ->
  0 < x < mass ys ref strategy -> kl ys ref policy < bernoulli_kl (mass ys ref strategy) x -> 0 < mass ys policy strategy ->
  x < mass ys policy strategy.
Proof.
  intros ys r p S x Lr Lp C X K M. assert (U : forall q, mass ys q S = mean ys q (fun y => one (S y))).
  { intro q. unfold mass, mean. apply sum_ext. intros; ring. }
  assert (B := returns ys r p (fun y => one (S y)) Lr Lp C ltac:(intros y _; cbv beta; destruct (S y); simpl; lra)). rewrite <- !U in B.
  assert (N := mass_bounds ys r S Lr). apply Rnot_le_lt. intro H. cbv beta in *. destruct H as [H|H]; [|rewrite <- H in K; lra].
  assert (F := bernoulli_kl_falls (mass ys r S) x (mass ys p S) ltac:(lra) ltac:(lra) ltac:(lra)). lra.
Qed.

(* R2: a line above (1 - e^-t)^k bounds mean Pass@k by the mean of the divergences. *)
Theorem mean_pass_at_k {X} : forall (xs : list X) weight rate distance k c, law xs weight ->
  (forall x, In x xs -> 0 <= distance x /\ exp (- distance x) <= rate x <= 1) ->
  (forall t, 0 <= t -> (1 - exp (- t)) ^ k <= c * t) ->
  1 - c * sum xs (fun x => weight x * distance x) <= sum xs (fun x => weight x * pass_at k (rate x)).
Proof.
  intros xs w V e k c [W S] H L. rewrite <- S, <- sum_scale, <- sum_minus. apply sum_le. intros x I.
  destruct (H x I) as [P [A B]]. assert (Q := W x I). assert (G := L (e x) P). unfold pass_at.
  assert (K : (1 - V x) ^ k <= (1 - exp (- e x)) ^ k) by (apply pow_incr; lra).
  replace (w x - c * (w x * e x)) with (w x * (1 - c * e x)) by ring. apply Rmult_le_compat_l; lra.
Qed.
(* The steepness of that line: k t + 1 - e^t has one sign before its root x and the other after it. *)
Lemma sign_of_gap : forall n x t, 1 <= n -> 0 < x -> exp x = 1 + n * x -> 0 < t ->
  (t <= x -> exp t <= 1 + n * t) /\ (x <= t -> 1 + n * t <= exp t).
Proof.
  intros n x t N X E T. assert (A := exp_ineq1_le (t - x)). assert (D : exp t = exp x * exp (t - x)) by (rewrite <- exp_plus; f_equal; ring).
  assert (P := exp_pos x). assert (Q := exp_pos t). split; intro H.
  - (* e^t lies below the chord from 0 to x. *)
    assert (B := exp_ineq1_le (x - t)). assert (C := exp_ineq1_le (- t)). rewrite exp_Ropp in C.
    assert (Ex : exp x = exp t * exp (x - t)) by (rewrite <- exp_plus; f_equal; ring).
    assert (C2 : exp t * (1 + - t) <= 1) by (apply Rmult_le_reg_r with (/ exp t); [apply Rinv_0_lt_compat, Q|];
      rewrite Rmult_assoc, (Rmult_comm _ (/ exp t)), <- Rmult_assoc, Rinv_r by lra; lra).
    assert (B2 : exp t * (1 + (x - t)) <= exp x) by (rewrite Ex; apply Rmult_le_compat_l; lra).
    assert (Z : x * exp t <= t * exp x + (x - t)).
    { replace (x * exp t) with (t * (exp t * (1 + (x - t))) + (x - t) * (exp t * (1 + - t))) by ring.
      apply Rplus_le_compat; [apply Rmult_le_compat_l; lra|]. rewrite <- (Rmult_1_r (x - t)) at 2. apply Rmult_le_compat_l; lra. }
    rewrite E in Z. apply Rmult_le_reg_l with x; [exact X|]. nra.
  - assert (B := exp_ineq1_le (- x)). rewrite exp_Ropp in B.
    assert (B2 : exp x * (1 - x) <= 1) by (apply Rmult_le_reg_r with (/ exp x); [apply Rinv_0_lt_compat, P|];
      rewrite Rmult_assoc, (Rmult_comm _ (/ exp x)), <- Rmult_assoc, Rinv_r by lra; lra).
    assert (Y : n <= exp x) by (apply Rmult_le_reg_r with x; [exact X|]; nra).
    rewrite D. apply Rle_trans with (exp x * (1 + (t - x))); [|apply Rmult_le_compat_l; lra]. rewrite E in Y |- *. nra.
Qed.
Theorem steepest_line : forall k x t, (1 <= k)%nat -> 0 < x -> exp x = 1 + INR k * x -> 0 <= t ->
  (1 - exp (- t)) ^ k <= (1 - exp (- x)) ^ k / x * t.
Proof.
  intros k x t K X E [T|<-]; [|rewrite Ropp_0, exp_0, Rminus_eq_0, pow_ne_zero by lia; lra].
  assert (N := le_INR 1 k K). simpl (INR 1) in N.
  assert (U : forall s, 0 < s -> 0 < 1 - exp (- s)) by (intros s S; assert (exp (- s) < exp 0) by (apply exp_increasing; lra); rewrite exp_0 in *; lra).
  set (g := fun s => INR k * ln (1 - exp (- s)) - ln s).
  assert (Dg : forall s, 0 < s -> is_derive g s (INR k * (exp (- s) / (1 - exp (- s))) - / s)).
  { intros s S. assert (Z := U s S). unfold g. auto_derive; [auto|]. field. lra. }
  assert (Sg : forall s, 0 < s -> INR k * (exp (- s) / (1 - exp (- s))) - / s = (1 + INR k * s - exp s) / (s * (exp s - 1))).
  { intros s S. assert (V := U s S). rewrite exp_Ropp in *. assert (P := exp_pos s). assert (Q : 1 < exp s) by (rewrite <- exp_0; apply exp_increasing, S). field. lra. }
  assert (Hg : g t <= g x).
  { destruct (Rtotal_order t x) as [H|[<-|H]]; [|lra|].
    - destruct (MVT_gen g t x (fun s => INR k * (exp (- s) / (1 - exp (- s))) - / s)) as (s & [S1 S2] & M).
      + intros s [S _]. rewrite Rmin_left in S by lra. apply Dg. lra.
      + intros s [S _]. rewrite Rmin_left in S by lra. apply continuity_pt_filterlim, (ex_derive_continuous g). eexists. apply Dg. lra.
      + rewrite Rmin_left in S1 by lra. rewrite Rmax_right in S2 by lra. rewrite Sg in M by lra.
        assert (Q : 1 < exp s) by (rewrite <- exp_0; apply exp_increasing; lra). destruct (sign_of_gap (INR k) x s N X E ltac:(lra)) as [A _]. specialize (A S2).
        assert (0 <= (1 + INR k * s - exp s) / (s * (exp s - 1))) by (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat, Rmult_lt_0_compat; lra]). nra.
    - destruct (MVT_gen g x t (fun s => INR k * (exp (- s) / (1 - exp (- s))) - / s)) as (s & [S1 S2] & M).
      + intros s [S _]. rewrite Rmin_left in S by lra. apply Dg. lra.
      + intros s [S _]. rewrite Rmin_left in S by lra. apply continuity_pt_filterlim, (ex_derive_continuous g). eexists. apply Dg. lra.
      + rewrite Rmin_left in S1 by lra. rewrite Rmax_right in S2 by lra. rewrite Sg in M by lra.
        assert (Q : 1 < exp s) by (rewrite <- exp_0; apply exp_increasing; lra). destruct (sign_of_gap (INR k) x s N X E ltac:(lra)) as [_ A]. specialize (A S1).
        assert (0 <= - ((1 + INR k * s - exp s) / (s * (exp s - 1)))).
        { replace (- ((1 + INR k * s - exp s) / (s * (exp s - 1)))) with ((exp s - (1 + INR k * s)) / (s * (exp s - 1))) by (field; lra).
          apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat, Rmult_lt_0_compat; lra]. }
        nra. }
  assert (Pg : forall s, 0 < s -> (1 - exp (- s)) ^ k = exp (g s) * s).
  { intros s S. unfold g. replace (INR k * ln (1 - exp (- s)) - ln s) with (INR k * ln (1 - exp (- s)) + - ln s) by ring.
    rewrite exp_plus, (exp_Ropp (ln s)), exp_ln by lra. rewrite <- Rpower_pow by (apply U, S). unfold Rpower. field. lra. }
  rewrite (Pg t T), (Pg x X). replace (exp (g x) * x / x * t) with (exp (g x) * t) by (field; lra). apply Rmult_le_compat_r; [lra|].
  destruct Hg as [H| ->]; [left; apply exp_increasing, H|right; reflexivity].
Qed.

(* R4: of stored answers with their frequencies, the share found again in k draws. *)
Theorem found_again {Y} : forall (ys : list Y) stored policy k c, law ys stored -> (forall y, In y ys -> 0 < policy y <= 1) ->
  (forall t, 0 <= t -> (1 - exp (- t)) ^ k <= c * t) ->
  1 - c * sum ys (fun y => stored y * - ln (policy y)) <= sum ys (fun y => stored y * pass_at k (policy y)).
Proof.
  intros ys s q k c L Q H. apply (mean_pass_at_k ys s q (fun y => - ln (q y)) k c L); [|exact H].
  intros y I. destruct (Q y I) as [P B]. rewrite Ropp_involutive, exp_ln by exact P. split; [|lra].
  assert (E := ln_below (q y) P). lra.
Qed.

(* L1: a policy without a strategy, positive elsewhere, is at least so far from the reference. *)
Theorem cost_of_losing {Y} : forall (ys : list Y) f f1 f2 policy ref lost, curved f f1 f2 -> law ys policy -> law ys ref ->
  positive ys ref -> 0 < mass ys ref lost < 1 -> (forall y, In y ys -> lost y = true -> policy y = 0) ->
  (forall y, In y ys -> lost y = false -> 0 < policy y) ->
  mass ys ref lost * f 0 + (1 - mass ys ref lost) * f (1 / (1 - mass ys ref lost)) <= divergence ys f policy ref.
Proof.
  intros ys f f1 f2 q a S K Lq La Pa M Z P. set (s := mass ys a S) in *.
  assert (Q1 : mass ys q (fun y => negb (S y)) = 1).
  { rewrite mass_negb, (proj2 Lq). assert (E : mass ys q S = 0); [|lra]. apply sum_zero. intros y I. destruct (S y) eqn:D; simpl; [rewrite Z by auto|]; ring. }
  assert (A1 : mass ys a (fun y => negb (S y)) = 1 - s) by (rewrite mass_negb, (proj2 La); reflexivity).
  set (m := 1 / (1 - s)). assert (Hm : 0 < m) by (apply Rdiv_lt_0_compat; lra).
  unfold divergence. rewrite (sum_split ys S). apply Rplus_le_compat.
  - right. unfold s, mass. rewrite Rmult_comm, <- sum_scale. apply sum_ext. intros y I. destruct (S y) eqn:D; simpl; [|ring].
    rewrite Z by auto. assert (H := Pa y I). unfold Rdiv. rewrite Rmult_0_l. ring.
  - apply Rle_trans with (sum ys (fun y => one (negb (S y)) * (a y * (f m + f1 m * (q y / a y - m))))).
    + right. rewrite (sum_ext ys _ (fun y => (f m - f1 m * m) * (one (negb (S y)) * a y) + f1 m * (one (negb (S y)) * q y))).
      * rewrite sum_plus, !sum_scale. fold (mass ys a (fun y => negb (S y))) (mass ys q (fun y => negb (S y))).
        rewrite A1, Q1. unfold m. field. lra.
      * intros y I. assert (H := Pa y I). field. lra.
    + apply sum_le. intros y I. destruct (S y) eqn:D; simpl; [lra|]. rewrite !Rmult_1_l. assert (H := Pa y I). assert (G := P y I D).
      apply Rmult_le_compat_l; [lra|]. apply (tangent f f1 f2 (q y / a y) m K); [apply Rdiv_lt_0_compat; auto|exact Hm].
Qed.

(* L2: what is left of a strategy among the correct answers bounds the excess KL. *)
Lemma part_at_least {Y} : forall (ys : list Y) q a v, law ys q -> positive ys a ->
  mass ys q v * (ln (mass ys q v) - ln (mass ys a v)) <= sum ys (fun y => one (v y) * (q y * (ln (q y) - ln (a y)))).
Proof.
  intros ys q a v [W S] P. unfold mass. apply Rle_trans with (1 := log_sum ys (fun y => one (v y) * q y) (fun y => one (v y) * a y)
    ltac:(intros y I; specialize (W y I); destruct (v y); simpl; lra) ltac:(intros y I; specialize (P y I); destruct (v y); simpl; lra)
    ltac:(intros y I H; specialize (P y I); destruct (v y); simpl in *; lra)).
  right. apply sum_ext. intros y I. destruct (v y); simpl; [rewrite !Rmult_1_l|]; ring.
Qed.
Theorem excess_of_strategy {Y} : forall (ys : list Y) policy base valid strategy, law ys policy -> law ys base -> positive ys base ->
  let both := fun y => andb (valid y) (strategy y) in let rest := fun y => andb (valid y) (negb (strategy y)) in
  0 < mass ys base both -> 0 < mass ys base rest -> 0 < mass ys policy rest -> mass ys base valid < 1 ->
  mass ys policy valid * bernoulli_kl (mass ys policy both / mass ys policy valid) (mass ys base both / mass ys base valid) <=
  kl ys policy base - bernoulli_kl (mass ys policy valid) (mass ys base valid).
Proof.
  intros ys q a v S Lq La Pa b r Ab Ar Qr A1.
  assert (E : forall p, mass ys p v = mass ys p b + mass ys p r).
  { intro p. unfold mass. rewrite <- sum_plus. apply sum_ext. intros y _. unfold b, r. destruct (v y), (S y); simpl; ring. }
  assert (Nq := mass_negb ys q v). assert (Na := mass_negb ys a v). rewrite (proj2 Lq) in Nq. rewrite (proj2 La) in Na.
  assert (B := part_at_least ys q a b Lq Pa). assert (C := part_at_least ys q a r Lq Pa). assert (D := part_at_least ys q a (fun y => negb (v y)) Lq Pa).
  assert (Qb : 0 <= mass ys q b) by (apply sum_nonneg; intros y I; specialize (proj1 Lq y I); destruct (b y); simpl; lra).
  rewrite Nq, Na in D. assert (K : kl ys q a = sum ys (fun y => one (b y) * (q y * (ln (q y) - ln (a y)))) +
    sum ys (fun y => one (r y) * (q y * (ln (q y) - ln (a y)))) + sum ys (fun y => one (negb (v y)) * (q y * (ln (q y) - ln (a y))))).
  { unfold kl. rewrite <- !sum_plus. apply sum_ext. intros y _. unfold b, r. destruct (v y), (S y); simpl; ring. }
  assert (Ev := E q). assert (Ea := E a). set (V := mass ys q v) in *. set (A := mass ys a v) in *.
  assert (PV : 0 < V) by lra. assert (PA : 0 < A) by lra.
  assert (X : V * bernoulli_kl (mass ys q b / V) (mass ys a b / A) = mass ys q b * (ln (mass ys q b) - ln (mass ys a b)) +
    mass ys q r * (ln (mass ys q r) - ln (mass ys a r)) - V * (ln V - ln A)).
  { unfold bernoulli_kl. replace (1 - mass ys q b / V) with (mass ys q r / V) by (rewrite Ev; field; lra).
    replace (1 - mass ys a b / A) with (mass ys a r / A) by (rewrite Ea; field; lra). rewrite !(ln_quotient (mass ys q r)), !(ln_quotient (mass ys a r)), (ln_quotient (mass ys a b)) by lra.
    destruct Qb as [Qb|Z].
    - rewrite ln_quotient by lra. replace (mass ys q r) with (V - mass ys q b) by lra. field. lra.
    - rewrite <- Z in *. replace (mass ys q r) with V by lra. unfold Rdiv. rewrite !Rmult_0_l. field. lra. }
  unfold bernoulli_kl at 2. rewrite X, K. lra.
Qed.
