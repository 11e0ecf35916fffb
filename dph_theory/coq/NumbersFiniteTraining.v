(* The theorems on finite training at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws KLControl Frontier Updates Prompts Selection Motion Numbers Samples.
Import ListNotations. Open Scope R_scope.
Definition equal_right := vector [0.15; 0.15; 0.42; 0.28].
Definition equal_logits (y : nat) : R := ln (equal_right y).
Ltac equally := let w := fresh in let I := fresh in let V := fresh in intros w I V; unfold mass, equal_logits; rewrite !sum_four;
  rewrite ?(soft equal_right w), ?(soft equal_right 0%nat), ?(soft equal_right 1%nat), ?(soft equal_right 2%nat), ?(soft equal_right 3%nat) by first [exact I|holds];
  each I ltac:(first [discriminate|cbv -[Rplus Rmult Rinv Rdiv IZR]; lra]).
Example sampling_noise_coefficient_1 : gives (proj1 (coefficients four base right_two 0.5 0%nat h h h h)) 0. Proof. both. Qed.
Example sampling_noise_coefficient_2 : gives (proj2 (coefficients four base right_two 0.5 0%nat h h h h)) (-0.234005297831). Proof. both. Qed.
Example sampling_noise_coefficient_3 : gives (proj1 (coefficients four base right_two 0.5 1%nat h h h h)) 0. Proof. both. Qed.
Example sampling_noise_coefficient_4 : gives (proj2 (coefficients four base right_two 0.5 1%nat h h h h)) (-0.234005297831). Proof. both. Qed.
Example sampling_noise_coefficient_5 : gives (proj1 (coefficients four base right_two 0.5 2%nat h h h h)) 0. Proof. both. Qed.
Example sampling_noise_coefficient_6 : gives (proj2 (coefficients four base right_two 0.5 2%nat h h h h)) (-0.234005297831). Proof. both. Qed.
Example sampling_noise_coefficient_7 : gives (proj1 (coefficients four base right_two 0.5 3%nat h h h h)) 0. Proof. both. Qed.
Example sampling_noise_coefficient_8 : gives (proj2 (coefficients four base right_two 0.5 3%nat h h h h)) (-0.234005297831). Proof. both. Qed.
Example sampling_noise_trap_1 : gives (proj1 (trap four four base right_two 0.5 (vector [0.6; -0.4; 0.2; -0.7]) 0.05 h h h h h (fun y I => I) 0%nat h)) (-0.0085527287997). Proof. both. Qed.
Example sampling_noise_trap_2 : gives (proj1 (trap four four base right_two 0.5 (vector [0.6; -0.4; 0.2; -0.7]) 0.05 h h h h h (fun y I => I) 1%nat h)) 0.0041179805332. Proof. both. Qed.
Example sampling_noise_trap_3 : gives (proj1 (trap four four base right_two 0.5 (vector [0.6; -0.4; 0.2; -0.7]) 0.05 h h h h h (fun y I => I) 2%nat h)) (-0.0034844450666). Proof. both. Qed.
Example sampling_noise_trap_4 : gives (proj1 (trap four four base right_two 0.5 (vector [0.6; -0.4; 0.2; -0.7]) 0.05 h h h h h (fun y I => I) 3%nat h)) 0.0079191933331. Proof. both. Qed.
Example sampling_noise_free_1 : gives (every_baseline four logits (unit 0) right_two 1 h) 0.12. Proof. slopes @mass_slope. Qed.
Example sampling_noise_free_2 : gives (every_baseline four logits (unit 1) right_two 1 h) 0.09. Proof. slopes @mass_slope. Qed.
Example sampling_noise_free_3 : gives (every_baseline four logits (unit 2) right_two 1 h) (-0.14). Proof. slopes @mass_slope. Qed.
Example sampling_noise_free_4 : gives (every_baseline four logits (unit 3) right_two 1 h) (-0.07). Proof. slopes @mass_slope. Qed.
Example sampling_noise_baseline_noise : gives (drift_of_a_draw four equal_logits right_two 0.25 0 1 (seq_NoDup 4 0) h h h eq_refl eq_refl ltac:(equally)) 0.16875. Proof. nothing. Qed.
Example updates_and_means_fixed_1 : gives (clipping_leaves_the_law four base right_two 0.5 2 0.2 0.2 h h h h h 4 0%nat h) 0.4267407565366. Proof. nothing. Qed.
Example updates_and_means_fixed_2 : gives (clipping_leaves_the_law four base right_two 0.5 2 0.2 0.2 h h h h h 4 1%nat h) 0.284493837691. Proof. nothing. Qed.
Example updates_and_means_fixed_3 : gives (clipping_leaves_the_law four base right_two 0.5 2 0.2 0.2 h h h h h 4 2%nat h) 0.1732592434634. Proof. nothing. Qed.
Example updates_and_means_fixed_4 : gives (clipping_leaves_the_law four base right_two 0.5 2 0.2 0.2 h h h h h 4 3%nat h) 0.115506162309. Proof. nothing. Qed.
Example updates_and_means_reward : gives (weights_move_nothing four base right_two 0.5 (vector [1; 0.5; 0.4; 0.25]) (unit 0) h h h) 0. Proof. both. Qed.
Example updates_and_means_motion_1 : gives (motion four base right_two 0.5 0%nat h h h h) 0.5775308115448. Proof. nothing. Qed.
Example updates_and_means_motion_2 : gives (motion four base right_two 0.5 1%nat h h h h) 0.5775308115448. Proof. nothing. Qed.
Example updates_and_means_motion_3 : gives (motion four base right_two 0.5 2%nat h h h h) (-1.4224691884552). Proof. nothing. Qed.
Example updates_and_means_motion_4 : gives (motion four base right_two 0.5 3%nat h h h h) (-1.4224691884552). Proof. nothing. Qed.
