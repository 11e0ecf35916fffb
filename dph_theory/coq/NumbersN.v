(* The theorems on transfer (family N) at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws Groups Lotteries Numbers Samples.
Import ListNotations. Open Scope R_scope.

Example N6_maxrl : bounds (maxrl_drive 0.1 0.1 0.9 8 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)) (-0.4782968) (-0.2).
Proof. split; unfold weight; binomials. Qed.
Example N6_odds : gives (keep_both 5 ltac:(holds)) 0.1111111111111. Proof. both. Qed.
