(* Group-relative advantages: their weights as finite sums, and two claims about them that are false. *)
Require Import Reals List Lra Lia Arith. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws.
Import ListNotations. Open Scope R_scope.

(* The advantage of a verdict v in a group of G of which `won` are right: over the sample deviation, or over the
   mean; alike groups are dropped, or those that are all wrong. *)
Definition by_deviation (G : nat) (v : R) (won : nat) : R :=
  if orb (Nat.eqb won 0) (Nat.eqb won G) then 0
  else (v - INR won / INR G) / sqrt (INR won * INR (G - won) / (INR G * INR (G - 1))).
Definition by_mean (G : nat) (v : R) (won : nat) : R :=
  if Nat.eqb won 0 then 0 else (v - INR won / INR G) / (INR won / INR G).
(* alpha_G(V) = E[A|v=1] - E[A|v=0], the others' successes Binomial(G-1, V) *)
Definition weight (advantage : nat -> R -> nat -> R) (G : nat) (V : R) : R :=
  sum (seq 0 G) (fun k => Binomial.C (G - 1) k * V ^ k * (1 - V) ^ (G - 1 - k) *
    (advantage G 1 (S k) - advantage G 0 k)).

Theorem constant : forall V, weight by_deviation 2 V = 1 / sqrt 2 /\ weight by_deviation 3 V = 2 / sqrt 3.
Proof.
  intro V. assert (S2 : 0 < sqrt 2) by (apply sqrt_lt_R0; lra). assert (S3 : 0 < sqrt 3) by (apply sqrt_lt_R0; lra).
  assert (E2 : sqrt 2 * sqrt 2 = 2) by (apply sqrt_sqrt; lra). assert (E3 : sqrt 3 * sqrt 3 = 3) by (apply sqrt_sqrt; lra).
  unfold weight, by_deviation, Binomial.C. simpl. replace (1 * 1 / ((1 + 1) * 1)) with (1 / 2) by field.
  replace (1 * (1 + 1) / ((1 + 1 + 1) * (1 + 1))) with (1 / 3) by field.
  replace ((1 + 1) * 1 / ((1 + 1 + 1) * (1 + 1))) with (1 / 3) by field. rewrite !sqrt_div, sqrt_1 by lra. split.
  - transitivity (sqrt 2 / (sqrt 2 * sqrt 2)); [rewrite E2|]; field; lra.
  - transitivity (2 * sqrt 3 / (sqrt 3 * sqrt 3)); [rewrite E3|]; field; lra.
Qed.
Lemma choose_next : forall n k, (k <= n)%nat ->
  Binomial.C n k * (INR (S n) / INR (S k)) = Binomial.C (S n) (S k).
Proof.
  intros n k L. unfold Binomial.C. replace (S n - S k)%nat with (n - k)%nat by lia. rewrite !fact_simpl, !mult_INR.
  assert (A := INR_fact_neq_0 k). assert (B := INR_fact_neq_0 (n - k)). assert (D := not_0_INR (S k) ltac:(lia)).
  field. auto.
Qed.
Lemma sum_shift : forall n f, sum (seq 0 (S n)) f = f 0%nat + sum (seq 0 n) (fun k => f (S k)).
Proof.
  intros n f. simpl. f_equal. rewrite <- seq_shift. induction (seq 0 n) as [|x r IH]; simpl; [reflexivity|].
  rewrite IH. reflexivity.
Qed.
Theorem weight_by_mean : forall V G, (1 <= G)%nat -> V * weight by_mean G V = 1 - (1 - V) ^ (G - 1).
Proof.
  intros V [|n] L; [lia|]. unfold weight. replace (S n - 1)%nat with n by lia. rewrite <- sum_scale.
  rewrite (sum_ext _ _ (fun k => Binomial.C (S n) (S k) * V ^ S k * (1 - V) ^ (S n - S k)
    - V * (1 - V) ^ n * (if Nat.eqb k 0 then 1 else 0))).
  - rewrite sum_minus, sum_scale. assert (B := binomial_theorem V (1 - V) (S n)). rewrite sum_shift in B.
    rewrite (sum_shift n (fun k => if Nat.eqb k 0 then 1 else 0)). simpl (Nat.eqb _ _).
    rewrite (sum_zero (seq 0 n)) by auto. replace (V + (1 - V)) with 1 in B by ring. rewrite pow1 in B.
    unfold Binomial.C at 1 in B. rewrite Nat.sub_0_r in B. simpl (fact 0) in B.
    assert (F := INR_fact_neq_0 (S n)). replace (INR (fact (S n)) / (INR 1 * INR (fact (S n)))) with 1 in B
      by (simpl (INR 1); field; exact F).
    simpl (V ^ 0) in B. simpl ((1 - V) ^ S n) in B. lra.
  - intros k I. apply in_seq in I. rewrite <- choose_next by lia. replace (S n - S k)%nat with (n - k)%nat by lia.
    assert (D := not_0_INR (S k) ltac:(lia)). assert (D' := not_0_INR (S n) ltac:(lia)).
    unfold by_mean. simpl (Nat.eqb (S k) 0). destruct k as [|k].
    + simpl (Nat.eqb 0 0). rewrite Nat.sub_0_r. unfold Binomial.C. rewrite Nat.sub_0_r. simpl (fact 0).
      assert (F := INR_fact_neq_0 n). simpl (V ^ 0). simpl (V ^ 1). simpl (INR 1) in *. field. auto.
    + simpl (Nat.eqb (S k) 0). assert (D2 := not_0_INR (S k) ltac:(lia)). cbv iota.
      change (V ^ S (S k)) with (V * V ^ S k). set (w := V ^ S k). set (z := (1 - V) ^ (n - S k)).
      set (c := Binomial.C n (S k)). field. auto.
Qed.
(* The weight is the slope of the sum of pass@k / k. *)
Theorem slope_of_passes : forall V G, (1 <= G)%nat -> V * weight by_mean G V = 1 - (1 - V) ^ (G - 1) /\
  is_derive (fun W => sum (seq 1 (G - 1)) (fun k => (1 - (1 - W) ^ k) / INR k)) V
    (sum (seq 1 (G - 1)) (fun k => (1 - V) ^ (k - 1))) /\
  V * sum (seq 1 (G - 1)) (fun k => (1 - V) ^ (k - 1)) = 1 - (1 - V) ^ (G - 1).
Proof.
  intros V G L. split; [apply weight_by_mean, L|]. generalize (G - 1)%nat as n. intro n. split.
  - assert (D : forall ks, (forall k, In k ks -> (1 <= k)%nat) -> is_derive (fun W => sum ks (fun k => (1 - (1 - W) ^ k) / INR k))
      V (sum ks (fun k => (1 - V) ^ (k - 1)))).
    { induction ks as [|k ks IH]; intro H; simpl; [apply (is_derive_const 0)|].
      apply (is_derive_plus (fun W => (1 - (1 - W) ^ k) / INR k)); [|apply IH; intros; apply H; simpl; auto].
      assert (P := H k (or_introl eq_refl)). assert (N := not_0_INR k ltac:(lia)).
      auto_derive; [auto|]. replace (Init.Nat.pred k) with (k - 1)%nat by lia.
      replace (1 + - V) with (1 - V) by ring. field. exact N. }
    apply D. intros k I. apply in_seq in I. lia.
  - induction n as [|n IH]; [simpl; ring|]. rewrite seq_S, sum_app, Rmult_plus_distr_l, IH.
    simpl (1 + n - 1)%nat. simpl. rewrite Nat.sub_0_r. ring.
Qed.
(* At p = 1/100 and G = 4: at most 2, and not 10. *)
Theorem not_the_deviation : weight by_deviation 4 (1 / 100) <> 1 / sqrt (1 / 100 * (1 - 1 / 100)).
Proof.
  apply Rlt_not_eq, Rlt_trans with 2.
  - unfold weight, by_deviation, Binomial.C. simpl.
    replace (1 * (1 + 1 + 1) / ((1 + 1 + 1 + 1) * (1 + 1 + 1))) with (1 / 2 * (1 / 2)) by field.
    replace ((1 + 1 + 1) * 1 / ((1 + 1 + 1 + 1) * (1 + 1 + 1))) with (1 / 2 * (1 / 2)) by field.
    replace ((1 + 1) * (1 + 1) / ((1 + 1 + 1 + 1) * (1 + 1 + 1))) with (1 / 3) by field.
    rewrite sqrt_square by lra. assert (S : 1 / 2 < sqrt (1 / 3)).
    { rewrite <- (sqrt_square (1 / 2)) by lra. apply sqrt_lt_1; lra. }
    assert (I : 0 < / sqrt (1 / 3) <= 2).
    { split; [apply Rinv_0_lt_compat; lra|]. rewrite <- (Rinv_inv 2). apply Rinv_le_contravar; lra. }
    unfold Rdiv in *. set (i := / sqrt (1 * / 3)) in *. lra.
  - assert (B : 0 < sqrt (1 / 100 * (1 - 1 / 100)) < 1 / 2).
    { split; [apply sqrt_lt_R0; lra|]. rewrite <- (sqrt_square (1 / 2)) by lra. apply sqrt_lt_1; lra. }
    set (r := sqrt _) in *. apply Rmult_lt_reg_r with r; [lra|]. replace (1 / r * r) with 1 by (field; lra). lra.
Qed.
(* At V = 1/4 and G = 2: the sum to G is one term too long. *)
Theorem not_the_group_size : weight by_mean 2 (1 / 4) <> sum (seq 1 2) (fun k => (1 - 1 / 4) ^ (k - 1)).
Proof. assert (E := weight_by_mean (1 / 4) 2 ltac:(lia)). simpl in *. lra. Qed.
