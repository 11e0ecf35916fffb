(* The theorems on published repairs (family H) at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws KLControl Updates Selection Motion Numbers Samples.
Import ListNotations. Open Scope R_scope.
Example H1_clock_1 : gives (another_clock four logits (unit 0) right_two 0.9 (-0.4) h) 0.156. Proof. slopes @mass_slope. Qed.
Example H1_clock_2 : gives (another_clock four logits (unit 1) right_two 0.9 (-0.4) h) 0.117. Proof. slopes @mass_slope. Qed.
Example H1_clock_3 : gives (another_clock four logits (unit 2) right_two 0.9 (-0.4) h) (-0.182). Proof. slopes @mass_slope. Qed.
Example H1_clock_4 : gives (another_clock four logits (unit 3) right_two 0.9 (-0.4) h) (-0.091). Proof. slopes @mass_slope. Qed.
Example H1_entropy : gives (entropy_bonus four right_two 0.5 (unit 0) h h) 0. Proof. nothing. Qed.
Example H2_advantage : gives (proj1 (uniqueness_weights (vector [0.5; 0.3; 0.2]) ltac:(cbv -[Rplus Rmult Rinv IZR]; lra))) 0.0184. Proof. both. Qed.
Example H2_reward : gives (proj2 (uniqueness_weights (vector [0.5; 0.3; 0.2]) ltac:(cbv -[Rplus Rmult Rinv IZR]; lra))) (-0.004). Proof. both. Qed.
