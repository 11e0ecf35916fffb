(* The theorems on samplers at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws KLControl Updates Motion Samplers Numbers Samples.
Import ListNotations. Open Scope R_scope.
Example samplers_decision_1 : gives (temperature_divides_beta four base right_two 0.3 0.6 0%nat h h h h) 0.4267407565366. Proof. nothing. Qed.
Example samplers_decision_2 : gives (temperature_divides_beta four base right_two 0.3 0.6 1%nat h h h h) 0.284493837691. Proof. nothing. Qed.
Example samplers_decision_3 : gives (temperature_divides_beta four base right_two 0.3 0.6 2%nat h h h h) 0.1732592434634. Proof. nothing. Qed.
Example samplers_decision_4 : gives (temperature_divides_beta four base right_two 0.3 0.6 3%nat h h h h) 0.115506162309. Proof. nothing. Qed.
Example samplers_reward : gives (any_sampler four base right_two 0.5 (vector [0.1; 0.2; 0.3; 0.4]) (unit 0) h h h h) 0. Proof. nothing. Qed.
Definition left_out := vector [0.6; 0.3; 0.1; 0].
Example samplers_outside : gives (outside_stays four left_out (vector [0.48; 0.24; 0.08; 0.2]) (vector [1; 1; -1; 0]) 3%nat h h) 0. Proof. nothing. Qed.
Example samplers_moving_reference_1 : gives (resets_divide_beta four base right_two 2 3 0%nat h h h h) 0.4267407565366. Proof. nothing. Qed.
Example samplers_moving_reference_2 : gives (resets_divide_beta four base right_two 2 3 1%nat h h h h) 0.284493837691. Proof. nothing. Qed.
Example samplers_moving_reference_3 : gives (resets_divide_beta four base right_two 2 3 2%nat h h h h) 0.1732592434634. Proof. nothing. Qed.
Example samplers_moving_reference_4 : gives (resets_divide_beta four base right_two 2 3 3%nat h h h h) 0.115506162309. Proof. nothing. Qed.
Example samplers_any_reward : gives (proj1 (any_reward four pi base (vector [1.5; 1; 0.5; 0]) 0.5 h h h h)) 0.7750659421525. Proof. both. Qed.
Example samplers_best : bounds (best_under_hacks 0.2 0.799 0.001 0.05 0.1 0.02 h h h h h h h h) 0.574031131646 0.986051133062. Proof. both. Qed.
