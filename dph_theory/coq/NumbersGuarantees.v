(* The theorems of Guarantees and Optima at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws KLControl Frontier Divergences Generators Guarantees Optima Numbers Samples.
Import ListNotations. Open Scope R_scope.
Example any_family_slack : bounds (proj1 (validity_with_slack four base right_two 0.5 pi rehearsed 0.1 h h h h ltac:(lra) ltac:(numbers))) (-0.15) (-0.0704454832028).
Proof. both. Qed.
