(* The theorems on coverage at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws Extremes KLControl Trees Coverage Strategies Numbers.
Import ListNotations. Open Scope R_scope.

Notation four := (outcomes 4).
Lemma no_double_d : NoDup four.
Proof. repeat constructor; simpl; lia. Qed.
Definition answers := vector [0.48; 0.32; 0.15; 0.05].
Definition right := verdicts [true; true; true; false].

Example pass_at_k_unbiased : gives (unbiased 5 3 0.3 ltac:(holds)) 0.657. Proof. both. Qed.
Example pass_at_k_product : gives (product_form 5 2 3 ltac:(holds) ltac:(holds)) 0.9. Proof. both. Qed.
Example pass_at_k_exact : gives (mean_over_prompts four (vector [0.1; 0.3; 0.6; 0.2]) 3 ltac:(holds)) 0.588. Proof. both. Qed.
Example pass_at_k_distinct : gives (expected_distinct four answers right 3 ltac:(holds) no_double_d) 1.930835. Proof. both. Qed.
Example pass_at_k_uniform_1 : bounds (proj1 (dirac_and_uniform four answers right 4 ltac:(holds) ltac:(holds))) 0.99999375 2.19106383. Proof. both. Qed.
Example pass_at_k_uniform_2 : bounds (proj2 (dirac_and_uniform four answers right 4 ltac:(holds) ltac:(holds))) 2.19106383 2.3458886574074. Proof. both. Qed.
Example pass_at_k_schur : bounds (averaging_finds_more four answers right 4 0 1 0.3 ltac:(holds) no_double_d ltac:(holds) ltac:(holds)
  ltac:(holds) eq_refl eq_refl ltac:(holds)) 2.19106383 2.214367972848. Proof. both. Qed.
Example pass_at_k_once : gives (proj1 (one_draw four answers right 0 1 0.3 no_double_d ltac:(holds) ltac:(holds) ltac:(holds) eq_refl eq_refl)) 0.95. Proof. both. Qed.

(* Types of prompts by strategies. *)
Definition table (rows : list (list R)) (t s : nat) : R := nth s (nth t rows []) 0.
Definition mixed := vector [0.4; 0.3; 0.2; 0.1].
Definition types := vector [0.6; 0.4].
Definition some_solve := table [[0.9; 0.2; 0.1; 0.4]; [0.1; 0.3; 0.8; 0.5]].
Ltac pairs := let t := fresh in let s := fresh in let I := fresh in let J := fresh in
  intros t s I J; each I ltac:(each J ltac:(holds || (left; reflexivity) || (right; reflexivity))).
Example falling_pass_at_k_single : bounds (one_type four (outcomes 2) some_solve (vector [0.1; 0.3; 0.4; 0.2]) mixed 0%nat 4 ltac:(holds) ltac:(holds)
  ltac:(pairs) ltac:(holds) ltac:(holds)) 0.71601759 0.92688384. Proof. both. Qed.
Example falling_pass_at_k_conditioned : bounds (conditioned four (outcomes 2) types some_solve (table [[0.4; 0.3; 0.2; 0.1]; [0.1; 0.2; 0.3; 0.4]]) 3 2
  ltac:(holds) ltac:(holds) ltac:(holds) ltac:(pairs) ltac:(holds)) 0.8685756 0.9614881508176. Proof. both. Qed.
Example falling_pass_at_k_rising : bounds (training_rises four (outcomes 2) types some_solve mixed 1 2 ltac:(holds) ltac:(holds) ltac:(holds)
  ltac:(holds)) 0.4440140698096 0.463054761471. Proof. both. Qed.
Definition solved_types := table [[1; 0; 0; 1]; [0; 1; 0; 1]; [0; 0; 1; 0]].
Definition three := vector [0.5; 0.3; 0.2].
Lemma gap : forall s, In s four -> s <> 3%nat -> worth (outcomes 3) three solved_types s + 0.3 <= worth (outcomes 3) three solved_types 3%nat.
Proof. intros s I. each I ltac:(first [intros _; exact_sum | let N := fresh in intro N; contradiction]). Qed.
Example falling_pass_at_k_limit_1 : bounds (proj1 (training_ends four (outcomes 3) three solved_types mixed 3%nat 0.3 10 2 no_double_d ltac:(holds)
  ltac:(holds) ltac:(holds) ltac:(holds) ltac:(pairs) ltac:(holds) gap)) 0.639376858952 0.7930674290794. Proof. both. Qed.
Example falling_pass_at_k_limit_2 : bounds (proj2 (training_ends four (outcomes 3) three solved_types mixed 3%nat 0.3 10 2 no_double_d ltac:(holds)
  ltac:(holds) ltac:(holds) ltac:(holds) ltac:(pairs) ltac:(holds) gap)) 0.7930674290794 0.9390776608623. Proof. both. Qed.
Lemma each_solved : forall t, In t (outcomes 3) -> exists s, In s four /\ solved_types t s = 1.
Proof. intros t I. each I ltac:(first [exists 0%nat; split; [holds|reflexivity] | exists 1%nat; split; [holds|reflexivity]
  | exists 2%nat; split; [holds|reflexivity]]). Qed.
Lemma none_solves_all : forall s, In s four -> exists t, In t (outcomes 3) /\ solved_types t s = 0.
Proof. intros s I. each I ltac:(first [exists 0%nat; split; [holds|reflexivity] | exists 2%nat; split; [holds|reflexivity]]). Qed.
Definition covering := base_covers four (outcomes 3) three solved_types mixed ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)
  ltac:(holds) ltac:(holds) ltac:(pairs) each_solved none_solves_all.
Example falling_pass_at_k_coverage_1 : bounds (Rlt_le _ _ (proj1 covering)) 0.8 1. Proof. both. Qed.
Example falling_pass_at_k_coverage_2 : bounds (proj1 (proj2 covering) 2%nat) 0.36 0.639. Proof. both. Qed.
