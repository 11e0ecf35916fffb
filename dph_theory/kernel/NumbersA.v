(* The theorems on binary rewards (family A) at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws Pinsker KLControl Frontier Limits Prompts Numbers.
Import ListNotations. Open Scope R_scope.

Definition base := vector [0.15; 0.1; 0.45; 0.3].
Definition valid := verdicts [true; true; false; false].
Definition policy := vector [0.3; 0.25; 0.25; 0.2].
Definition inside_valid := vector [0.7; 0.3; 0; 0].

Example A1_distance : bounds (degeneracy (outcomes 4) policy inside_valid valid ltac:(holds) ltac:(holds) ltac:(holds)) 0.45 0.45.
Proof. both. Qed.
Example A1_nearest : gives (degeneracy_attained (outcomes 4) policy inside_valid valid ltac:(holds) ltac:(holds) ltac:(holds)) 0.45.
Proof. both. Qed.
Example A4_identity : gives (control_identity (outcomes 4) policy base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)) 0.5817178710413.
Proof. both. Qed.
Example A4_unique : bounds (proj1 (control_unique (outcomes 4) policy base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds))) 0.0519931887515 0.0634357420826.
Proof. both. Qed.
Example A4_value : gives (proj1 (proj2 (control_value (outcomes 4) base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)))) 0.4772292963966.
Proof. both. Qed.
Example A5_validity : gives (validity (outcomes 4) base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds)) 0.7112345942276.
Proof. both. Qed.
