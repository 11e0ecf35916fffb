(* The theorems on transfer (family N) at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws Groups Lotteries Numbers Samples.
Import ListNotations. Open Scope R_scope.

Example N6_maxrl : bounds (maxrl_drive 0.1 0.1 0.9 8 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)) (-0.4782968) (-0.2).
Proof. split; unfold weight; binomials. Qed.
Example N6_odds : gives (keep_both 5 ltac:(holds)) 0.1111111111111. Proof. both. Qed.
Definition chance (i : nat) : R := (1 - (2 / 3) ^ i) / (1 - (2 / 3) ^ 8).
Lemma harmonic : forall i, (S i < 2 + 6)%nat -> (0.3 + 0.2) * chance (S i) = 0.3 * chance (S (S i)) + 0.2 * chance i.
Proof.
  intros i _. unfold chance, Rdiv. set (k := / (1 - (2 * / 3) ^ 8)). change ((2 * / 3) ^ S (S i)) with (2 * / 3 * (2 * / 3 * (2 * / 3) ^ i)).
  change ((2 * / 3) ^ S i) with (2 * / 3 * (2 * / 3) ^ i). set (a := (2 * / 3) ^ i). lra.
Qed.
Example N6_ruin : gives (ruin 0.3 0.2 chance 2 6 ltac:(holds) ltac:(holds) ltac:(lra) ltac:(lia) ltac:(unfold chance; simpl; field; lra)
  ltac:(unfold chance; simpl; field; lra) harmonic) 0.5781126090404. Proof. both. Qed.
