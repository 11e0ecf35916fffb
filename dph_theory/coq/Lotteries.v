(* Strategies that prompts share (N6): who survives under MaxRL, which two prompts keep both, and who wins by luck. *)
Require Import Reals List Lra Lia Arith. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Groups.
Import ListNotations. Open Scope R_scope.

(* Bernoulli: 1 - (1-x)^n lies between x and n x. *)
Lemma power_falls : forall n x, 0 <= x <= 1 -> 1 - (1 - x) ^ n <= INR n * x.
Proof.
  intros n x H. induction n as [|n IH]; [simpl; lra|]. rewrite S_INR. change ((1 - x) ^ S n) with ((1 - x) * (1 - x) ^ n).
  assert (P := pow_le (1 - x) n ltac:(lra)). assert (Q := pow_incr (1 - x) 1 n ltac:(lra)). rewrite pow1 in Q.
  assert (x * (1 - x) ^ n <= x * 1) by (apply Rmult_le_compat_l; lra). lra.
Qed.
Lemma power_falls_once : forall n x, 0 <= x <= 1 -> x <= 1 - (1 - x) ^ S n.
Proof.
  intros n x H. change ((1 - x) ^ S n) with ((1 - x) * (1 - x) ^ n). assert (P := pow_le (1 - x) n ltac:(lra)).
  assert (Q := pow_incr (1 - x) 1 n ltac:(lra)). rewrite pow1 in Q.
  assert ((1 - x) * (1 - x) ^ n <= (1 - x) * 1) by (apply Rmult_le_compat_l; lra). lra.
Qed.
(* N6.maxrl: r and s are the weights of the prompts that only the one, and only the other, solves. *)
Theorem maxrl_drive : forall q r s G, 0 < q < 1 -> 0 <= r -> 0 <= s -> (2 <= G)%nat ->
  r * weight by_mean G q - s * weight by_mean G (1 - q) <= INR (G - 1) * r - s.
Proof.
  intros q r s G Q Pr Ps L. assert (A := weight_by_mean q G ltac:(lia)). assert (B := weight_by_mean (1 - q) G ltac:(lia)).
  assert (U := power_falls (G - 1) q ltac:(lra)). destruct G as [|[|n]]; try lia. replace (S (S n) - 1)%nat with (S n) in * by lia.
  assert (V := power_falls_once n (1 - q) ltac:(lra)). set (a := weight by_mean (S (S n)) q) in *. set (b := weight by_mean (S (S n)) (1 - q)) in *.
  assert (a <= INR (S n)) by (apply Rmult_le_reg_l with q; lra). assert (1 <= b) by (apply Rmult_le_reg_l with (1 - q); lra). nra.
Qed.
(* N6.odds *)
Theorem keep_both : forall o, 1 <= o -> let far := 3 + 2 * sqrt 2 in
  1 - 2 * ((o - 1) / (o + 1)) ^ 2 = (far - o) * (o - / far) / (o + 1) ^ 2.
Proof.
  intros o H far. assert (S : sqrt 2 * sqrt 2 = 2) by (apply sqrt_sqrt; lra). assert (P := sqrt_pos 2).
  assert (E : / far = 3 - 2 * sqrt 2).
  { unfold far. apply Rmult_eq_reg_l with (3 + 2 * sqrt 2); [|lra]. rewrite Rinv_r by lra. nra. }
  rewrite E. unfold far. replace ((3 + 2 * sqrt 2 - o) * (o - (3 - 2 * sqrt 2))) with (6 * o - o ^ 2 - 9 + 4 * (sqrt 2 * sqrt 2)) by ring.
  rewrite S. field. lra.
Qed.
(* N6.ruin: the chance h i from i steps above the lower end, of n in all. *)
Theorem ruin : forall w v (h : nat -> R) d u, 0 < w -> 0 < v -> w <> v -> (0 < d + u)%nat -> h 0%nat = 0 -> h (d + u)%nat = 1 ->
  (forall i, (S i < d + u)%nat -> (w + v) * h (S i) = w * h (S (S i)) + v * h i) ->
  h d = (1 - (v / w) ^ d) / (1 - (v / w) ^ (d + u)).
Proof.
  intros w v h d u W V N P H0 H1 E. set (n := (d + u)%nat) in *. set (r := v / w).
  assert (R1 : r <> 1). { unfold r. intro A. apply N. replace v with (v / w * w) by (field; lra). rewrite A. ring. }
  assert (D : forall i, (i < n)%nat -> h (S i) - h i = r ^ i * h 1%nat).
  { induction i as [|i IH]; intro L; [simpl; rewrite H0; ring|]. specialize (E i L). specialize (IH ltac:(lia)).
    simpl. rewrite Rmult_assoc, <- IH. unfold r. apply Rmult_eq_reg_l with w; [|lra].
    replace (w * (v / w * (h (S i) - h i))) with (v * (h (S i) - h i)) by (field; lra). lra. }
  assert (F : forall i, (i <= n)%nat -> (1 - r) * h i = (1 - r ^ i) * h 1%nat).
  { induction i as [|i IH]; intro L; [simpl; rewrite H0; ring|]. specialize (IH ltac:(lia)). specialize (D i ltac:(lia)). simpl.
    replace (h (S i)) with (h i + r ^ i * h 1%nat) by lra. rewrite Rmult_plus_distr_l, IH. ring. }
  assert (A := F n ltac:(lia)). assert (B := F d ltac:(unfold n; lia)). rewrite H1, Rmult_1_r in A.
  assert (K : 1 - r ^ n <> 0). { intro Z. rewrite Z, Rmult_0_l in A. lra. }
  apply Rmult_eq_reg_l with (1 - r); [|lra]. rewrite B.
  replace ((1 - r) * ((1 - r ^ d) / (1 - r ^ n))) with ((1 - r ^ n) * h 1%nat * ((1 - r ^ d) / (1 - r ^ n))) by (rewrite <- A; reflexivity).
  field. exact K.
Qed.
