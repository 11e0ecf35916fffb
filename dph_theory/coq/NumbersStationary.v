(* The theorems on stationary policies at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws Pinsker KLControl Frontier Divergences Groups Updates Trees Generators Forms Dial Pulls Prompts
  Selection Motion Analysis Numbers Samples.
Import ListNotations. Open Scope R_scope.
Definition mixed_base := vector [0.3; 0.2; 0.1; 0.4].
Lemma inverse_twice : forall x, x = 1 / (1 / x).
Proof. intro x. unfold Rdiv. rewrite !Rmult_1_l, Rinv_inv. reflexivity. Qed.
Ltac with_zeros := split; cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv ln exp sqrt Rabs IZR Rle Rlt Rmax Rmin PI];
  unfold Rdiv; repeat rewrite ?Rmult_0_r, ?Rmult_0_l, ?Rplus_0_l, ?Rplus_0_r; interval with (i_prec 80).
Ltac minimal := split; cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv ln exp sqrt Rabs IZR Rle Rlt Rmax Rmin PI];
  repeat first [rewrite Rmin_left by lra|rewrite Rmin_right by lra]; interval with (i_prec 80).
(* Strings of up to three tokens, of which those with the token 0 once are right; trees of one token or two. *)
Definition symbols := table 2 [0.5; 0.4; 0.1] [[0.3; 0.5; 0.2]; [0.6; 0.2; 0.2]] [[[0.1; 0.5; 0.4]; [0.7; 0.1; 0.2]]; [[0.4; 0.4; 0.2]; [0.2; 0.5; 0.3]]].
Definition once := among [[1%nat; 1%nat; 0%nat]; [2%nat; 1%nat; 0%nat]; [2%nat; 2%nat; 0%nat]; [1%nat; 0%nat; 1%nat]; [2%nat; 0%nat; 1%nat]; [0%nat; 1%nat; 1%nat]].
Definition short := table 2 [0.5; 0.3; 0.2] [[0.7; 0.2; 0.1]; [0.4; 0.5; 0.1]] [[[0; 0; 1]; [0; 0; 1]]; [[0; 0; 1]; [0; 0; 1]]].
Ltac everywhere := let g := fresh in let a := fresh in let b := fresh in let s := fresh in intro g; destruct g as [|b [|a s]]; [holds| |];
  [destruct b as [|[|b]]; holds|destruct a as [|[|a]]; destruct b as [|[|b]]; holds].
Ltac tokens_open := prefixes ltac:(let t := fresh in let T := fresh in intros t T; each T ltac:(if_valid ltac:(numbers))).
Definition pairs_right := among [[0%nat; 0%nat]; [1%nat; 0%nat]; [0%nat; 1%nat]; [2%nat; 2%nat]].
Ltac softened := let E := fresh in lazymatch goal with |- gives ?p _ => pose proof p as E; cbv beta in E; split; cbv beta; [rewrite E|]; softly; numbers end.
Definition right_three := verdicts [true; true; true; false].
Lemma tilted_soft : forall y, In y four -> softmax four (fun z => ln (tilted four mixed_base right_three 0.5 z)) y = tilted four mixed_base right_three 0.5 y.
Proof. destruct (tilted_law four mixed_base right_three 0.5 ltac:(holds) ltac:(holds)) as [L P]. intros y I. apply soft; auto. Qed.
Ltac relaxed := let E := fresh in lazymatch goal with |- gives ?p _ => pose proof p as E; cbv beta in E; split; cbv beta; [rewrite E|];
  rewrite !sum_four, !tilted_soft by (simpl; tauto); numbers end.
Example sequence_penalties_mixture_1 : gives (one_shape four forward mixed_base right_two 0.7 h h h) 0.0871766935724. Proof. both. Qed.
Example sequence_penalties_mixture_2 : gives (one_shape four reverse mixed_base right_two 0.7 h h h) 0.0822828785051. Proof. both. Qed.
Example sequence_penalties_mixture_3 : gives (one_shape four jensen_shannon mixed_base right_two 0.7 h h h) 0.0420118514037. Proof. both. Qed.
Example sequence_penalties_mixture_4 : gives (one_shape four hellinger mixed_base right_two 0.7 h h h) 0.0421873741386. Proof. both. Qed.
Example sequence_penalties_mixture_5 : gives (one_shape four pearson mixed_base right_two 0.7 h h h) 0.16. Proof. both. Qed.
Example sequence_penalties_mixture_6 : gives (one_shape four neyman mixed_base right_two 0.7 h h h) 0.1904761904762. Proof. both. Qed.
Example sequence_penalties_mixture_7 : gives (one_shape four (alpha_form 0.25) mixed_base right_two 0.7 h h h) 0.0832442101456. Proof. both. Qed.
Example sequence_penalties_mixture_8 : gives (one_shape four (alpha_form 0.5) mixed_base right_two 0.7 h h h) 0.0843747482772. Proof. both. Qed.
Example sequence_penalties_mixture_9 : gives (one_shape four (alpha_form 0.75) mixed_base right_two 0.7 h h h) 0.0856825527182. Proof. both. Qed.
Example sequence_penalties_frontier_1 : bounds (verdicts_cost four forward _ _ rehearsed base right_two (named_curved 0.5 forward _ _ real real n) h h h h h h) 0.1860048777334 0.190542381367. Proof. both. Qed.
Example sequence_penalties_frontier_2 : bounds (verdicts_cost four reverse _ _ rehearsed base right_two (named_curved 0.5 reverse _ _ real real n) h h h h h h) 0.2037800175057 0.2089771492894. Proof. both. Qed.
Example sequence_penalties_frontier_3 : bounds (verdicts_cost four jensen_shannon _ _ rehearsed base right_two (named_curved 0.5 jensen_shannon _ _ real real n) h h h h h h) 0.0955493756861 0.0977332030569. Proof. both. Qed.
Example sequence_penalties_frontier_4 : bounds (verdicts_cost four hellinger _ _ rehearsed base right_two (named_curved 0.5 hellinger _ _ real real n) h h h h h h) 0.0964851474282 0.0987898234647. Proof. both. Qed.
Example sequence_penalties_frontier_5 : bounds (verdicts_cost four pearson _ _ rehearsed base right_two (named_curved 0.5 pearson _ _ real real n) h h h h h h) 0.48 0.4972222222222. Proof. both. Qed.
Example sequence_penalties_frontier_6 : bounds (verdicts_cost four neyman _ _ rehearsed base right_two (named_curved 0.5 neyman _ _ real real n) h h h h h h) 0.3636363636364 0.375. Proof. both. Qed.
Example sequence_penalties_frontier_7 : bounds (verdicts_cost four (alpha_form 0.25) _ _ rehearsed base right_two (named_curved 0.25 (alpha_form 0.25) _ _ real real n) h h h h h h) 0.1978564057167 0.2026878025066. Proof. both. Qed.
Example sequence_penalties_frontier_8 : bounds (verdicts_cost four (alpha_form 0.5) _ _ rehearsed base right_two (named_curved 0.5 (alpha_form 0.5) _ _ real real n) h h h h h h) 0.1929702948564 0.1975796469293. Proof. both. Qed.
Example sequence_penalties_frontier_9 : bounds (verdicts_cost four (alpha_form 0.75) _ _ rehearsed base right_two (named_curved 0.75 (alpha_form 0.75) _ _ real real n) h h h h h h) 0.1890420053186 0.1935572217688. Proof. both. Qed.
Example sequence_penalties_dial_1 : bounds (proj1 (dial forward (fun u => - / u) _ 0.25 (1 / ((fun u => - / u) (0.4375 / 0.25) - (fun u => - / u) ((1 - 0.4375) / (1 - 0.25)))) 0.4375 (named_curved 0.5 forward _ _ real real n) h h h) (inverse_twice _) 0.6 h) 0.2045535469146 0.2574757259784. Proof. both. Qed.
Example sequence_penalties_dial_2 : bounds (proj1 (dial reverse (fun u => ln u + 1) _ 0.25 (1 / ((fun u => ln u + 1) (0.4375 / 0.25) - (fun u => ln u + 1) ((1 - 0.4375) / (1 - 0.25)))) 0.4375 (named_curved 0.5 reverse _ _ real real n) h h h) (inverse_twice _) 0.6 h) 0.2345409375889 0.2876820724518. Proof. both. Qed.
Example sequence_penalties_dial_3 : bounds (proj1 (dial jensen_shannon (fun u => ln u - ln ((u + 1) / 2)) _ 0.25 (1 / ((fun u => ln u - ln ((u + 1) / 2)) (0.4375 / 0.25) - (fun u => ln u - ln ((u + 1) / 2)) ((1 - 0.4375) / (1 - 0.25)))) 0.4375 (named_curved 0.5 jensen_shannon _ _ real real n) h h h) (inverse_twice _) 0.6 h) 0.108825236153 0.1336155681385. Proof. both. Qed.
Example sequence_penalties_dial_4 : bounds (proj1 (dial hellinger (fun u => 1 - / sqrt u) _ 0.25 (1 / ((fun u => 1 - / sqrt u) (0.4375 / 0.25) - (fun u => 1 - / sqrt u) ((1 - 0.4375) / (1 - 0.25)))) 0.4375 (named_curved 0.5 hellinger _ _ real real n) h h h) (inverse_twice _) 0.6 h) 0.1093047396683 0.1349385051007. Proof. both. Qed.
Example sequence_penalties_dial_5 : bounds (proj1 (dial pearson (fun u => 2 * (u - 1)) _ 0.25 (1 / ((fun u => 2 * (u - 1)) (0.4375 / 0.25) - (fun u => 2 * (u - 1)) ((1 - 0.4375) / (1 - 0.25)))) 0.4375 (named_curved 0.5 pearson _ _ real real n) h h h) (inverse_twice _) 0.6 h) 0.5466666666667 0.6875. Proof. both. Qed.
Example sequence_penalties_dial_6 : bounds (proj1 (dial neyman (fun u => 1 - / u ^ 2) _ 0.25 (1 / ((fun u => 1 - / u ^ 2) (0.4375 / 0.25) - (fun u => 1 - / u ^ 2) ((1 - 0.4375) / (1 - 0.25)))) 0.4375 (named_curved 0.5 neyman _ _ real real n) h h h) (inverse_twice _) 0.6 h) 0.3603316326531 0.4920634920635. Proof. both. Qed.
Example sequence_penalties_dial_7 : bounds (proj1 (dial (alpha_form 0.25) (fun u => (1 - Rpower u (Ropp 0.25)) / 0.25) _ 0.25 (1 / ((fun u => (1 - Rpower u (Ropp 0.25)) / 0.25) (0.4375 / 0.25) - (fun u => (1 - Rpower u (Ropp 0.25)) / 0.25) ((1 - 0.4375) / (1 - 0.25)))) 0.4375 (named_curved 0.25 (alpha_form 0.25) _ _ real real n) h h h) (inverse_twice _) 0.6 h) 0.2263157322722 0.278048193431. Proof. both. Qed.
Example sequence_penalties_dial_8 : bounds (proj1 (dial (alpha_form 0.5) (fun u => (1 - Rpower u (Ropp 0.5)) / 0.5) _ 0.25 (1 / ((fun u => (1 - Rpower u (Ropp 0.5)) / 0.5) (0.4375 / 0.25) - (fun u => (1 - Rpower u (Ropp 0.5)) / 0.5) ((1 - 0.4375) / (1 - 0.25)))) 0.4375 (named_curved 0.5 (alpha_form 0.5) _ _ real real n) h h h) (inverse_twice _) 0.6 h) 0.2186094793366 0.2698770102013. Proof. both. Qed.
Example sequence_penalties_dial_9 : bounds (proj1 (dial (alpha_form 0.75) (fun u => (1 - Rpower u (Ropp 0.75)) / 0.75) _ 0.25 (1 / ((fun u => (1 - Rpower u (Ropp 0.75)) / 0.75) (0.4375 / 0.25) - (fun u => (1 - Rpower u (Ropp 0.75)) / 0.75) ((1 - 0.4375) / (1 - 0.25)))) 0.4375 (named_curved 0.75 (alpha_form 0.75) _ _ real real n) h h h) (inverse_twice _) 0.6 h) 0.2113735621148 0.2630531992723. Proof. both. Qed.
Example sequence_penalties_forward : gives (proj1 (forward_dial 0.3 0.7 h h)) 1. Proof. both. Qed.
Example sequence_penalties_pearson : bounds (proj1 (pearson_dial 0.25 0.5 0.3 h h h)) 0.2933333333333 0.34375. Proof. minimal. Qed.
Example token_penalties_value : gives (value_of_prefix four (vector [0.144; 0.348; 0.312; 0.196]) (vector [0.9; 0.5; 0.3; 0.1]) 0.5 1.08 h h ltac:(cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv IZR]; field)) 0.58. Proof. both. Qed.
Example token_penalties_cost : gives (local_cost three 3 symbols once ltac:(everywhere) ltac:(tokens_open) eq_refl) 1.2295568024662. Proof. with_zeros. Qed.
Example token_penalties_dearer : bounds (proj1 (proj2 (local_dearer three 2 short pairs_right ltac:(everywhere) ltac:(tokens_open) eq_refl h))) 0.2613647641344 0.3275674773912. Proof. with_zeros. Qed.
Example group_advantages_constant_1 : gives (proj1 (constant 0.25)) 0.7071067811865. Proof. both. Qed.
Example group_advantages_constant_2 : gives (proj2 (constant 0.25)) 1.1547005383793. Proof. both. Qed.
Example group_advantages_ends_1 : gives (the_limit _ _ _ (proj1 (ends 2 h))) 0.7071067811865. Proof. nothing. Qed.
Example group_advantages_ends_2 : gives (the_limit _ _ _ (proj2 (ends 2 h))) 0.7071067811865. Proof. nothing. Qed.
Example group_advantages_ends_3 : gives (the_limit _ _ _ (proj1 (ends 4 h))) 1.5. Proof. nothing. Qed.
Example group_advantages_ends_4 : gives (the_limit _ _ _ (proj2 (ends 4 h))) 1.5. Proof. nothing. Qed.
Example group_advantages_ends_5 : gives (the_limit _ _ _ (proj1 (ends 8 h))) 2.4748737341529. Proof. nothing. Qed.
Example group_advantages_ends_6 : gives (the_limit _ _ _ (proj2 (ends 8 h))) 2.4748737341529. Proof. nothing. Qed.
Example group_advantages_ends_7 : gives (the_limit _ _ _ (proj1 (ends 16 h))) 3.75. Proof. nothing. Qed.
Example group_advantages_ends_8 : gives (the_limit _ _ _ (proj2 (ends 16 h))) 3.75. Proof. nothing. Qed.
Example group_advantages_ends_9 : gives (the_limit _ _ _ (proj1 (ends 64 h))) 7.875. Proof. nothing. Qed.
Example group_advantages_ends_10 : gives (the_limit _ _ _ (proj2 (ends 64 h))) 7.875. Proof. nothing. Qed.
Example group_advantages_mean_1 : gives (proj1 (slope_of_passes 0.3 2 h)) 0.3. Proof. split; unfold weight; binomials. Qed.
Example group_advantages_mean_2 : gives (proj1 (slope_of_passes 0.3 3 h)) 0.51. Proof. split; unfold weight; binomials. Qed.
Example group_advantages_mean_3 : gives (proj1 (slope_of_passes 0.3 8 h)) 0.9176457. Proof. split; unfold weight; binomials. Qed.
Example token_penalties_shared : gives (proj1 (one_law_for_all (outcomes 2) four (fun x => nth x [verdicts [true; true; false; false]; verdicts [true; false; true; false]] (verdicts [])) rehearsed mixed_base 0.5 h h h h)) 0.9537708653149. Proof. both. Qed.
Example convergence_time_rate_1 : gives (proj2 (relaxation four mixed_base right_three 0.5 (fun z => ln (tilted four mixed_base right_three 0.5 z)) (vector [1; 0.5; 0; -0.5]) h h h h) tilted_soft 0%nat h) (-0.1971536316367). Proof. relaxed. Qed.
Example convergence_time_rate_2 : gives (proj2 (relaxation four mixed_base right_three 0.5 (fun z => ln (tilted four mixed_base right_three 0.5 z)) (vector [1; 0.5; 0; -0.5]) h h h h) tilted_soft 1%nat h) 0.0214380950929. Proof. relaxed. Qed.
Example convergence_time_rate_3 : gives (proj2 (relaxation four mixed_base right_three 0.5 (fun z => ln (tilted four mixed_base right_three 0.5 z)) (vector [1; 0.5; 0; -0.5]) h h h h) tilted_soft 2%nat h) 0.0871559723052. Proof. relaxed. Qed.
Example convergence_time_rate_4 : gives (proj2 (relaxation four mixed_base right_three 0.5 (fun z => ln (tilted four mixed_base right_three 0.5 z)) (vector [1; 0.5; 0; -0.5]) h h h h) tilted_soft 3%nat h) 0.0885595642385. Proof. relaxed. Qed.
Example convergence_time_onpolicy_1 : gives (on_policy_pull four logits (unit 0) ref h h) (-0.4130047038999). Proof. softened. Qed.
Example convergence_time_onpolicy_2 : gives (on_policy_pull four logits (unit 1) ref h h) 0.1523799843592. Proof. softened. Qed.
Example convergence_time_onpolicy_3 : gives (on_policy_pull four logits (unit 2) ref h h) 0.1153852305369. Proof. softened. Qed.
Example convergence_time_onpolicy_4 : gives (on_policy_pull four logits (unit 3) ref h h) 0.1452394890038. Proof. softened. Qed.
Example convergence_time_rehearsed_1 : gives (rehearsed_pull four logits (unit 0) ref h h h) (-0.3). Proof. softened. Qed.
Example convergence_time_rehearsed_2 : gives (rehearsed_pull four logits (unit 1) ref h h h) 0.05. Proof. softened. Qed.
Example convergence_time_rehearsed_3 : gives (rehearsed_pull four logits (unit 2) ref h h h) 0.05. Proof. softened. Qed.
Example convergence_time_rehearsed_4 : gives (rehearsed_pull four logits (unit 3) ref h h h) 0.2. Proof. softened. Qed.
