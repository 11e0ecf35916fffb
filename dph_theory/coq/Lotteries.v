(* Strategies that prompts share: who gains under MaxRL, and which two prompts keep both. *)
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
(* r and s are the weights of the prompts that only the one, and only the other, solves. *)
Theorem maxrl_drive : forall q r s G, 0 < q < 1 -> 0 <= r -> 0 <= s -> (2 <= G)%nat ->
  r * weight by_mean G q - s * weight by_mean G (1 - q) <= INR (G - 1) * r - s.
Proof.
  intros q r s G Q Pr Ps L. assert (A := weight_by_mean q G ltac:(lia)). assert (B := weight_by_mean (1 - q) G ltac:(lia)).
  assert (U := power_falls (G - 1) q ltac:(lra)). destruct G as [|[|n]]; try lia. replace (S (S n) - 1)%nat with (S n) in * by lia.
  assert (V := power_falls_once n (1 - q) ltac:(lra)). set (a := weight by_mean (S (S n)) q) in *. set (b := weight by_mean (S (S n)) (1 - q)) in *.
  assert (a <= INR (S n)) by (apply Rmult_le_reg_l with q; lra). assert (1 <= b) by (apply Rmult_le_reg_l with (1 - q); lra). nra.
Qed.
