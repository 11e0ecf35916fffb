(* The theorems on binary rewards at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws Pinsker KLControl Frontier Divergences Limits Prompts Updates Flows Coverage Families Rounds Pulls Numbers.
Import ListNotations. Open Scope R_scope.

Notation four := (outcomes 4).
Definition base := vector [0.15; 0.1; 0.45; 0.3].
Definition valid := verdicts [true; true; false; false].
Definition policy := vector [0.3; 0.25; 0.25; 0.2].
Definition inside_valid := vector [0.7; 0.3; 0; 0].

Example degeneracy_distance : bounds (degeneracy four policy inside_valid valid ltac:(holds) ltac:(holds) ltac:(holds)) 0.45 0.45. Proof. both. Qed.
Example degeneracy_nearest : gives (degeneracy_attained four policy inside_valid valid ltac:(holds) ltac:(holds) ltac:(holds)) 0.45. Proof. both. Qed.
Lemma natural : natural_flow four base valid (flow four base valid (fun t => t)).
Proof. apply natural_flow_is; holds. Qed.
Lemma with_penalty : penalised_flow four base valid 0.5 (flow four base valid (delayed 0.5)).
Proof. apply penalised_flow_is; holds. Qed.
Definition policy_logits := vector [ln 0.3; ln 0.25; ln 0.25; ln 0.2].
Example implicit_bias_field_1 : gives (proj1 (natural_field four policy_logits (vector [1; 0; 0; 0]) valid ltac:(holds))) 0.135. Proof. both. Qed.
Example implicit_bias_field_2 : gives (proj1 (natural_field four policy_logits (vector [0; 1; 0; 0]) valid ltac:(holds))) 0.1125. Proof. both. Qed.
Example implicit_bias_field_3 : gives (proj1 (natural_field four policy_logits (vector [0; 0; 1; 0]) valid ltac:(holds))) (-0.1375). Proof. both. Qed.
Example implicit_bias_field_4 : gives (proj1 (natural_field four policy_logits (vector [0; 0; 0; 1]) valid ltac:(holds))) (-0.11). Proof. both. Qed.
Example implicit_bias_path_1 : gives (natural_path four base valid _ 2 ltac:(holds) natural ltac:(holds) 0%nat ltac:(holds)) 0.4267407565366. Proof. both. Qed.
Example implicit_bias_path_2 : gives (natural_path four base valid _ 2 ltac:(holds) natural ltac:(holds) 1%nat ltac:(holds)) 0.284493837691. Proof. both. Qed.
Example implicit_bias_path_3 : gives (natural_path four base valid _ 2 ltac:(holds) natural ltac:(holds) 2%nat ltac:(holds)) 0.1732592434634. Proof. both. Qed.
Example implicit_bias_path_4 : gives (natural_path four base valid _ 2 ltac:(holds) natural ltac:(holds) 3%nat ltac:(holds)) 0.115506162309. Proof. both. Qed.
Example implicit_bias_natural_ratios_1 : gives (shares_stay four base valid (1 / 2) ltac:(holds) ltac:(holds) 0%nat ltac:(holds)) 0.6. Proof. both. Qed.
Example implicit_bias_natural_ratios_2 : gives (shares_stay four base valid (1 / 2) ltac:(holds) ltac:(holds) 1%nat ltac:(holds)) 0.4. Proof. both. Qed.
Example implicit_bias_natural_ratios_3 : gives (shares_stay four base valid (1 / 2) ltac:(holds) ltac:(holds) 2%nat ltac:(holds)) 0. Proof. both. Qed.
Example implicit_bias_natural_ratios_4 : gives (shares_stay four base valid (1 / 2) ltac:(holds) ltac:(holds) 3%nat ltac:(holds)) 0. Proof. both. Qed.
Example implicit_bias_natural_limit : bounds (natural_limit four base valid 2 ltac:(holds) ltac:(holds) ltac:(holds)) 0.2887654057724 0.4060058497098. Proof. both. Qed.
Example implicit_bias_penalised_1 : gives (penalised_path four base valid 0.5 _ 2 ltac:(holds) with_penalty ltac:(holds) ltac:(holds) 0%nat ltac:(holds)) 0.3247876837176.
Proof. both. Qed.
Example implicit_bias_penalised_2 : gives (penalised_path four base valid 0.5 _ 2 ltac:(holds) with_penalty ltac:(holds) ltac:(holds) 1%nat ltac:(holds)) 0.2165251224784.
Proof. both. Qed.
Example implicit_bias_penalised_3 : gives (penalised_path four base valid 0.5 _ 2 ltac:(holds) with_penalty ltac:(holds) ltac:(holds) 2%nat ltac:(holds)) 0.2752123162824.
Proof. both. Qed.
Example implicit_bias_penalised_4 : gives (penalised_path four base valid 0.5 _ 2 ltac:(holds) with_penalty ltac:(holds) ltac:(holds) 3%nat ltac:(holds)) 0.1834748775216.
Proof. both. Qed.
Example implicit_bias_slower : bounds (penalty_keeps_more four base valid 0.5 _ _ 2 ltac:(holds) ltac:(holds) with_penalty natural
  ltac:(holds) ltac:(holds)) 0.1756444443592 0.4544585927932. Proof. both. Qed.
Example kl_control_identity : gives (control_identity four policy base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)) 0.5817178710413. Proof. both. Qed.
Example kl_control_unique : bounds (proj1 (control_unique four policy base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds))) 0.0519931887515 0.0634357420826.
Proof. both. Qed.
Example kl_control_value : gives (proj1 (proj2 (control_value four base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)))) 0.4772292963966. Proof. both. Qed.
Example kl_control_pass_rate : gives (validity four base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds)) 0.7112345942276. Proof. both. Qed.
Example kl_control_mixture_1 : gives (mixture_of_tilted four base valid 0.5 ltac:(holds) ltac:(holds) 0%nat ltac:(holds)) 0.4267407565366. Proof. both. Qed.
Example kl_control_mixture_2 : gives (mixture_of_tilted four base valid 0.5 ltac:(holds) ltac:(holds) 1%nat ltac:(holds)) 0.284493837691. Proof. both. Qed.
Example kl_control_mixture_3 : gives (mixture_of_tilted four base valid 0.5 ltac:(holds) ltac:(holds) 2%nat ltac:(holds)) 0.1732592434634. Proof. both. Qed.
Example kl_control_mixture_4 : gives (mixture_of_tilted four base valid 0.5 ltac:(holds) ltac:(holds) 3%nat ltac:(holds)) 0.115506162309. Proof. both. Qed.
Example kl_control_cost : gives (cost four base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)) 0.4680105956619. Proof. both. Qed.
Example kl_control_slope : bounds (proj1 (slope 0.25 0.5 0.7 ltac:(holds) ltac:(holds) ltac:(holds))) 0.4455414072068 0.4458463724646. Proof. both. Qed.
Example kl_control_inverse : gives (proj1 (inverse four base valid 0.75 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds))) 0.75. Proof. both. Qed.
Example kl_control_pointwise_1 : bounds (proj1 (pointwise four base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) 0%nat ltac:(holds))) 0.1732592434634 0.4060058497098.
Proof. both. Qed.
Example kl_control_pointwise_2 : bounds (proj1 (pointwise four base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) 1%nat ltac:(holds))) 0.115506162309 0.4060058497098.
Proof. both. Qed.
Example kl_control_pointwise_3 : bounds (proj1 (pointwise four base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) 2%nat ltac:(holds))) 0.1732592434634 0.4060058497098.
Proof. both. Qed.
Example kl_control_pointwise_4 : bounds (proj1 (pointwise four base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) 3%nat ltac:(holds))) 0.115506162309 0.4060058497098.
Proof. both. Qed.
Example kl_control_variation : gives (variation four base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds)) 0.2887654057724. Proof. both. Qed.
Example kl_control_forward_1 : gives (proj1 (forward_value four base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds))) 0.3407529539131. Proof. both. Qed.
Example kl_control_forward_2 : gives (proj1 (proj2 (forward_value four base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)))) 0.3407529539131. Proof. both. Qed.
Ltac infinite := split; [rewrite (exp_minus_kl_zero _ _ _ 2%nat); [numbers|holds|numbers|exact_sum]|numbers].
Example kl_control_reverse_1 : gives (proj1 (never_a_reverse_target four policy base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds))) 0. Proof. infinite. Qed.
Example kl_control_reverse_2 : gives (proj2 (never_a_reverse_target four policy base valid 0.5 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds))) 0. Proof. infinite. Qed.
Example frontier_pythagoras : gives (pythagoras four inside_valid base valid ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)) 1.4078952152634.
Proof. both. Qed.
Example frontier_closest : bounds (proj1 (closest four inside_valid base valid ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds))) 0.02 0.0216008541435.
Proof. both. Qed.
Example frontier_decomposition : gives (decomposition four policy base valid ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)) 0.2089771492894. Proof. both. Qed.
Example frontier_frontier : bounds (proj1 (frontier four policy base valid ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds))) 0.2037800175057 0.2089771492894.
Proof. both. Qed.
Example frontier_equality : gives (proj1 (equality four policy base valid ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds))) 0.2089771492894. Proof. both. Qed.

Definition rates := vector [0.1; 0.3; 0.6; 0.2].
Definition can := verdicts [true; true; true; false].
Example many_prompts_increasing : bounds (Rlt_le _ _ (mean_rises four rates 2 3 ltac:(holds) ltac:(holds) ltac:(holds))) 0.694221482349 0.8470722493052. Proof. both. Qed.
Lemma some_solvable : exists x, In x four /\ can x = true.
Proof. exists 0%nat. split; [holds|reflexivity]. Qed.
Example many_prompts_range_1 : bounds (Rlt_le _ _ (proj1 (mean_between four rates can 0.5 ltac:(holds) some_solvable ltac:(holds)))) 0.25 0.532025071278. Proof. both. Qed.
Example many_prompts_range_2 : bounds (Rlt_le _ _ (proj2 (mean_between four rates can 0.5 ltac:(holds) some_solvable ltac:(holds)))) 0.532025071278 0.75. Proof. both. Qed.
Example many_prompts_ends_1 : bounds (proj1 (mean_near_ends four rates can 0.5 ltac:(holds) ltac:(holds))) 0.282025071278 0.8625225733556. Proof. both. Qed.
Example many_prompts_ends_2 : bounds (proj2 (mean_near_ends four rates can 0.5 ltac:(holds) ltac:(holds))) 0.217974928722 0.4060058497098. Proof. both. Qed.
Definition targets := vector [0.8; 0.7; 0.9; 0.6].
Example many_prompts_dual : bounds (dual four rates targets 2 ltac:(holds) ltac:(holds)) 0.5091851433615 0.5774636400764. Proof. both. Qed.
Example many_prompts_optimal : bounds (one_beta_is_cheapest four rates (vector [0.8; 0.8; 0.8; 0.8]) (1 / 0.4) ltac:(holds) ltac:(holds) ltac:(holds)) 0.5873695685676 0.7050353503051.
Proof. both. Qed.

(* Restricted families. *)
Definition reference := vector [0.3; 0.2; 0.1; 0.4].
Definition right := verdicts [true; true; false; false].
Definition spread_law := vector [0.3; 0.3; 0.2; 0.2].
Definition sharp_law := vector [0.6; 0.2; 0.1; 0.1].
Definition family := map dirac four ++ [spread_law; sharp_law].
Ltac members := let r := fresh in let I := fresh in intros r I; each I holds.
Lemma no_double_a : NoDup four.
Proof. repeat constructor; simpl; lia. Qed.
Lemma are_laws : laws four family.
Proof. members. Qed.
Lemma nearest_at_04 : nearest four family reference right 0.4 sharp_law.
Proof. split; [holds|members]. Qed.
Lemma nearest_at_02 : nearest four family reference right 0.2 (dirac 0).
Proof. split; [holds|members]. Qed.
Ltac clause := first [intros _; holds | let E := fresh in intro E; exfalso; revert E;
  first [apply Rle_not_lt; numbers | rewrite dirac_kl by (exact no_double_a || holds); lra | cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv IZR]; lra]].
Lemma best_is : most_valid four family reference right (dirac 0).
Proof. split; [holds|]. intros r I. each I ltac:(split; [numbers|clause]). Qed.
Lemma below_critical : forall r, In r family -> kl four r reference < kl four (dirac 0) reference ->
  0.2 < critical four reference right (dirac 0) r.
Proof. intros r I. each I clause. Qed.
Example misspecification_validity : bounds (validity_lost four family reference right 0.4 sharp_law (dirac 0) are_laws ltac:(holds) ltac:(holds)
  ltac:(holds) nearest_at_04 ltac:(holds)) 0.2 0.3706855728408. Proof. both. Qed.
Example misspecification_order_1 : gives (proj1 (validity_first four family reference right 0.2 (dirac 0) (dirac 0) are_laws ltac:(holds) ltac:(holds)
  ltac:(holds) best_is below_critical nearest_at_02)) 1. Proof. both. Qed.
Example misspecification_order_2 : gives (proj2 (validity_first four family reference right 0.2 (dirac 0) (dirac 0) are_laws ltac:(holds) ltac:(holds)
  ltac:(holds) best_is below_critical nearest_at_02)) 1.2039728043259. Proof. both. Qed.
Example misspecification_monotone_1 : bounds (proj1 (smaller_beta_chooses four family reference right 0.4 0.2 sharp_law (dirac 0) are_laws
  ltac:(holds) ltac:(holds) ltac:(holds) nearest_at_04 nearest_at_02)) 0.8 1. Proof. both. Qed.
Example misspecification_monotone_2 : bounds (proj2 (smaller_beta_chooses four family reference right 0.4 0.2 sharp_law (dirac 0) are_laws
  ltac:(holds) ltac:(holds) ltac:(holds) nearest_at_04 nearest_at_02)) 0.277258872224 1.2039728043259. Proof. both. Qed.
Lemma below_mode : forall r, In r family -> kl four r reference < - ln (reference 0%nat) ->
  0.2 < critical four reference right (dirac 0) r.
Proof. intros r I. each I clause. Qed.
Lemma mode : forall y, In y four -> right y = true -> y <> 0%nat -> reference y < reference 0%nat.
Proof. intros y I. each I ltac:(intros V D; first [discriminate V | contradiction | numbers]). Qed.
Definition collapsed := proj2 (collapse four [spread_law; sharp_law] reference right 0.2 (dirac 0) 0 no_double_a ltac:(members)
  ltac:(holds) ltac:(holds) ltac:(members) ltac:(holds) eq_refl mode ltac:(holds)) below_mode nearest_at_02.
Example misspecification_collapse_1 : gives (collapsed 0%nat ltac:(holds)) 1. Proof. both. Qed.
Example misspecification_collapse_2 : gives (collapsed 1%nat ltac:(holds)) 0. Proof. both. Qed.
Example misspecification_collapse_3 : gives (collapsed 2%nat ltac:(holds)) 0. Proof. both. Qed.
Example misspecification_collapse_4 : gives (collapsed 3%nat ltac:(holds)) 0. Proof. both. Qed.
Definition target := filtered four reference right.
Lemma projection_is : forall r, In r family -> exp_minus_kl four target r <= exp_minus_kl four target sharp_law.
Proof.
  rewrite (exp_minus_kl_is four target sharp_law) by holds. intros r I.
  each I ltac:(first [rewrite exp_minus_kl_is by holds; holds
    | rewrite (exp_minus_kl_zero _ _ _ 0%nat) by (holds || numbers || reflexivity); left; apply exp_pos
    | rewrite (exp_minus_kl_zero _ _ _ 1%nat) by (holds || numbers || reflexivity); left; apply exp_pos]).
Qed.
Example misspecification_coverage : bounds (proj1 (projection_keeps four family reference right sharp_law sharp_law 1 no_double_a are_laws ltac:(holds)
  ltac:(holds) ltac:(holds) ltac:(holds) projection_is ltac:(holds) ltac:(holds) ltac:(holds))) 0.1046496287529 0.277258872224. Proof. both. Qed.
Example misspecification_segment : bounds (segment four base (vector [0.5; 0.2; 0.2; 0.1]) right 0.4 0.9 ltac:(holds) ltac:(holds)
  ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)) (-0.2898498957242) (-0.1844232835886). Proof. both. Qed.

Example grpo_rounds_recursion_1 : gives (proj1 (round_is four base right 0.75 0.55 (spread 0.55) ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)
  ltac:(holds))) 0.8294152299472. Proof. both. Qed.
Example grpo_rounds_recursion_2 : gives (proj1 (round_is four base right 0.75 0.55 1 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)
  ltac:(holds))) 0.5584123265213. Proof. both. Qed.
Definition lifted (rise : R) : R := expit (logit 0.1 + rise).
Example grpo_rounds_interior : gives (proj1 (interior_points 0.1 (lifted 2.78) ltac:(holds) ltac:(holds))) 0.6417057807061. Proof. both. Qed.
Example grpo_rounds_unimodal : bounds (Rlt_le _ _ (one_peak 0.1 (lifted 2.5) (lifted 3.5) (lifted 5.5) ltac:(holds) ltac:(holds) ltac:(holds))) 1.0173891766502 1.4347068661954.
Proof. split; [rewrite Rmin_right by numbers; numbers|numbers]. Qed.
Example misspecification_accelerates_1 : gives (proj1 (proj2 (penalties_on_two_bits 0.1 20 ltac:(holds) ltac:(holds)))) 0.0489567532872. Proof. both. Qed.
Example misspecification_accelerates_2 : gives (proj2 (proj2 (proj2 (penalties_on_two_bits 0.1 20 ltac:(holds) ltac:(holds))))) (-0.1). Proof. both. Qed.
Example grpo_rounds_least : bounds (proj1 (rises_and_fixed_points 0.1 0.75 ltac:(holds)) 0.7 ltac:(holds)) (-0.2501856051228) (-0.1349505679102). Proof. both. Qed.
(* 0.6 and the beta whose fixed point has log odds higher by 1.5. *)
Definition higher := expit (logit 0.6 + 1.5).
Lemma is_fixed : fixed 0.6 (fixing 0.6 higher) higher.
Proof. split; [holds|]. apply (interior_points 0.6 higher); holds. Qed.
Definition rising_path n := proj1 (rounds_rise 0.6 (fixing 0.6 higher) higher ltac:(holds) ltac:(holds) is_fixed ltac:(holds)) n.
Example grpo_rounds_monotone_1 : bounds (Rlt_le _ _ (proj1 (rising_path 0%nat))) 0.4054651081082 1.4334632325367. Proof. both. Qed.
Example grpo_rounds_monotone_2 : bounds (Rlt_le _ _ (proj1 (rising_path 1%nat))) 1.4334632325367 1.6826685446907. Proof. both. Qed.
Example grpo_rounds_monotone_3 : bounds (Rlt_le _ _ (proj2 (rising_path 1%nat))) 1.6826685446907 1.9054651081082. Proof. both. Qed.
