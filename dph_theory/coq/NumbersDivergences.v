(* The theorems on divergences and losses at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws Pinsker KLControl Frontier Divergences Updates Trees Generators Refuted Forms Rehearsal Products
  Selection Motion Analysis Rates Numbers Samples.
Import ListNotations. Open Scope R_scope.
Definition one_pi := vector [0.9; 0.05; 0.05].
Definition two_pi := vector [0.8; 0.1; 0.1].
Definition one_ref := vector [0.1; 0.7; 0.2].
Definition two_ref := vector [0.2; 0.2; 0.6].
Ltac dpg_slopes := lazymatch goal with |- gives ?p _ => let E := fresh in pose proof p as E; cbv beta in E; split; cbv beta;
  [rewrite E|]; rewrite alpha_slope by first [discriminate|lra|apply filtered_law; given]; unfold score; softly; powers; interval with (i_prec 80) end.
Example generators_convex_1 : bounds (proj1 (generators_convex 0.5 forward _ _ 0.4 2.5 0.3 real real n h h h)) (-0.0295588022415) 0.3665162927497. Proof. both. Qed.
Example generators_convex_2 : bounds (proj1 (generators_convex 0.5 reverse _ _ 0.4 2.5 0.3 real real n h h h)) 0.0304455663088 0.4306566439809. Proof. both. Qed.
Example generators_convex_3 : bounds (proj1 (generators_convex 0.5 jensen_shannon _ _ 0.4 2.5 0.3 real real n h h h)) 0.0002216829465 0.1926015117086. Proof. both. Qed.
Example generators_convex_4 : bounds (proj1 (generators_convex 0.5 hellinger _ _ 0.4 2.5 0.3 real real n h h h)) 0.0002216869816 0.1958789571023. Proof. both. Qed.
Example generators_convex_5 : bounds (proj1 (generators_convex 0.5 pearson _ _ 0.4 2.5 0.3 real real n h h h)) 0.0009 0.927. Proof. both. Qed.
Example generators_convex_6 : bounds (proj1 (generators_convex 0.5 neyman _ _ 0.4 2.5 0.3 real real n h h h)) 0.0008737864078 0.9. Proof. both. Qed.
Example generators_convex_7 : bounds (proj1 (generators_convex 0.25 (alpha_form 0.25) _ _ 0.4 2.5 0.3 real real n h h h)) 0.0004444681094 0.3944831632719. Proof. both. Qed.
Example generators_convex_8 : bounds (proj1 (generators_convex 0.5 (alpha_form 0.5) _ _ 0.4 2.5 0.3 real real n h h h)) 0.0004433739631 0.3917579142047. Proof. both. Qed.
Example generators_convex_9 : bounds (proj1 (generators_convex 0.75 (alpha_form 0.75) _ _ 0.4 2.5 0.3 real real n h h h)) 0.0004422838521 0.3924291251103. Proof. both. Qed.
Example generators_nonnegative_1 : bounds (proj1 (nonnegative four forward _ pi ref (named_touch 0.5 forward _ _ real real n) h h h h) 0%nat h) 0.161370563888 0.3006928762565. Proof. both. Qed.
Example generators_nonnegative_2 : bounds (proj1 (nonnegative four reverse _ pi ref (named_touch 0.5 reverse _ _ real real n) h h h h) 0%nat h) 0.254517744448 0.3537826013701. Proof. both. Qed.
Example generators_nonnegative_3 : bounds (proj1 (nonnegative four jensen_shannon _ pi ref (named_touch 0.5 jensen_shannon _ _ real real n) h h h h) 0%nat h) 0.0963723785109 0.1534056926223. Proof. both. Qed.
Example generators_nonnegative_4 : bounds (proj1 (nonnegative four hellinger _ pi ref (named_touch 0.5 hellinger _ _ real real n) h h h h) 0%nat h) 0.1 0.1583021731455. Proof. both. Qed.
Example generators_nonnegative_5 : bounds (proj1 (nonnegative four pearson _ pi ref (named_touch 0.5 pearson _ _ real real n) h h h h) 0%nat h) 0.9 1.0504761904762. Proof. both. Qed.
Example generators_nonnegative_6 : bounds (proj1 (nonnegative four neyman _ pi ref (named_touch 0.5 neyman _ _ real real n) h h h h) 3%nat h) 0.4 0.6458333333333. Proof. both. Qed.
Example generators_nonnegative_7 : bounds (proj1 (nonnegative four (alpha_form 0.25) _ pi ref (named_touch 0.25 (alpha_form 0.25) _ _ real real n) h h h h) 0%nat h) 0.224838866802 0.3322062413568. Proof. both. Qed.
Example generators_nonnegative_8 : bounds (proj1 (nonnegative four (alpha_form 0.5) _ pi ref (named_touch 0.5 (alpha_form 0.5) _ _ real real n) h h h h) 0%nat h) 0.2 0.316604346291. Proof. both. Qed.
Example generators_nonnegative_9 : bounds (proj1 (nonnegative four (alpha_form 0.75) _ pi ref (named_touch 0.75 (alpha_form 0.75) _ _ real real n) h h h h) 0%nat h) 0.1790861000677 0.3062620023888. Proof. both. Qed.
Example generators_nonnegative_10 : bounds (proj1 (nonnegative four half_distance _ pi ref half_distance_touches h h h h) 0%nat h) 0.15 0.3. Proof. both. Qed.
Example generators_textbook_1 : gives (proj1 (textbook four pi ref 0.5 h h h h real real)) 0.3006928762565. Proof. both. Qed.
Example generators_textbook_2 : gives (proj1 (proj2 (textbook four pi ref 0.5 h h h h real real))) 0.3537826013701. Proof. both. Qed.
Example generators_textbook_3 : gives (proj1 (proj2 (proj2 (textbook four pi ref 0.5 h h h h real real)))) 0.1534056926223. Proof. both. Qed.
Example generators_textbook_4 : gives (proj1 (proj2 (proj2 (proj2 (textbook four pi ref 0.5 h h h h real real))))) 0.1583021731455. Proof. both. Qed.
Example generators_textbook_5 : gives (proj1 (proj2 (proj2 (proj2 (proj2 (textbook four pi ref 0.5 h h h h real real)))))) 1.0504761904762. Proof. both. Qed.
Example generators_textbook_6 : gives (proj1 (proj2 (proj2 (proj2 (proj2 (proj2 (textbook four pi ref 0.5 h h h h real real))))))) 0.6458333333333. Proof. both. Qed.
Example generators_textbook_7 : gives (proj1 (proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (textbook four pi ref 0.5 h h h h real real)))))))) 0.3. Proof. both. Qed.
Example generators_textbook_8 : gives (proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (textbook four pi ref 0.25 h h h h real real)))))))) 0.3322062413568. Proof. both. Qed.
Example generators_textbook_9 : gives (proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (textbook four pi ref 0.5 h h h h real real)))))))) 0.316604346291. Proof. both. Qed.
Example generators_textbook_10 : gives (proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (textbook four pi ref 0.75 h h h h real real)))))))) 0.3062620023888. Proof. both. Qed.
Example generators_limits_1 : bounds (proj1 (alpha_ends four pi ref 0.25 h h h h h)) 0.2176413159173 0.4318404835755. Proof. maxed. Qed.
Example generators_limits_2 : bounds (proj1 (alpha_ends four pi ref 0.5 h h h h h)) 0.1423907031111 0.287893655717. Proof. maxed. Qed.
Example generators_limits_3 : bounds (proj1 (alpha_ends four pi ref 0.75 h h h h h)) 0.0709963744649 0.1439468278585. Proof. maxed. Qed.
Example generators_limits_4 : bounds (proj1 (alpha_ends four pi ref (1023 / 1024) h h h h h)) 0.0002807553637 0.0005622922963. Proof. maxed. Qed.
Example generators_limits_5 : bounds (proj1 (alpha_ends four pi ref (1 / 1024) h h h h h)) 0.3003474802461 0.5752250191377. Proof. maxed. Qed.
Example generators_limits_6 : bounds (proj2 (alpha_ends four pi ref 0.25 h h h h h)) 0.1046279203525 0.1439468278585. Proof. maxed. Qed.
Example generators_limits_7 : bounds (proj2 (alpha_ends four pi ref 0.5 h h h h h)) 0.1954804282246 0.287893655717. Proof. maxed. Qed.
Example generators_limits_8 : bounds (proj2 (alpha_ends four pi ref 0.75 h h h h h)) 0.2772171007729 0.4318404835755. Proof. maxed. Qed.
Example generators_limits_9 : bounds (proj2 (alpha_ends four pi ref (1023 / 1024) h h h h h)) 0.3534889433829 0.5752250191377. Proof. maxed. Qed.
Example generators_limits_10 : bounds (proj2 (alpha_ends four pi ref (1 / 1024) h h h h h)) 0.0004424826803 0.0005622922963. Proof. maxed. Qed.
Example generators_reversal_1 : gives (reversal four forward pi ref h h) 0.3006928762565. Proof. both. Qed.
Example generators_reversal_2 : gives (reversal four reverse pi ref h h) 0.3537826013701. Proof. both. Qed.
Example generators_reversal_3 : gives (reversal four jensen_shannon pi ref h h) 0.1534056926223. Proof. both. Qed.
Example generators_reversal_4 : gives (reversal four hellinger pi ref h h) 0.1583021731455. Proof. both. Qed.
Example generators_reversal_5 : gives (reversal four pearson pi ref h h) 1.0504761904762. Proof. both. Qed.
Example generators_reversal_6 : gives (reversal four neyman pi ref h h) 0.6458333333333. Proof. both. Qed.
Example generators_reversal_7 : gives (reversal four (alpha_form 0.25) pi ref h h) 0.3322062413568. Proof. both. Qed.
Example generators_reversal_8 : gives (reversal four (alpha_form 0.5) pi ref h h) 0.316604346291. Proof. both. Qed.
Example generators_reversal_9 : gives (reversal four (alpha_form 0.75) pi ref h h) 0.3062620023888. Proof. both. Qed.
Example generators_reversal_10 : gives (reversal four half_distance pi ref h h) 0.3. Proof. both. Qed.
Example generators_processing_1 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) forward _ _ pi ref (named_curved 0.5 forward _ _ real real n) h h h h (seq_NoDup 3 0) ltac:(intros y I; each I ltac:(simpl; tauto))) 0.2486979937912 0.3006928762565. Proof. both. Qed.
Example generators_processing_2 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) reverse _ _ pi ref (named_curved 0.5 reverse _ _ real real n) h h h h (seq_NoDup 3 0) ltac:(intros y I; each I ltac:(simpl; tauto))) 0.3264317994287 0.3537826013701. Proof. both. Qed.
Example generators_processing_3 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) jensen_shannon _ _ pi ref (named_curved 0.5 jensen_shannon _ _ real real n) h h h h (seq_NoDup 3 0) ltac:(intros y I; each I ltac:(simpl; tauto))) 0.1356113582983 0.1534056926223. Proof. both. Qed.
Example generators_processing_4 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) hellinger _ _ pi ref (named_curved 0.5 hellinger _ _ real real n) h h h h (seq_NoDup 3 0) ltac:(intros y I; each I ltac:(simpl; tauto))) 0.1395220896956 0.1583021731455. Proof. both. Qed.
Example generators_processing_5 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) pearson _ _ pi ref (named_curved 0.5 pearson _ _ real real n) h h h h (seq_NoDup 3 0) ltac:(intros y I; each I ltac:(simpl; tauto))) 1.0207792207792 1.0504761904762. Proof. both. Qed.
Example generators_processing_6 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) neyman _ _ pi ref (named_curved 0.5 neyman _ _ real real n) h h h h (seq_NoDup 3 0) ltac:(intros y I; each I ltac:(simpl; tauto))) 0.4416666666667 0.6458333333333. Proof. both. Qed.
Example generators_processing_7 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) (alpha_form 0.25) _ _ pi ref (named_curved 0.25 (alpha_form 0.25) _ _ real real n) h h h h (seq_NoDup 3 0) ltac:(intros y I; each I ltac:(simpl; tauto))) 0.3001865713978 0.3322062413568. Proof. both. Qed.
Example generators_processing_8 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) (alpha_form 0.5) _ _ pi ref (named_curved 0.5 (alpha_form 0.5) _ _ real real n) h h h h (seq_NoDup 3 0) ltac:(intros y I; each I ltac:(simpl; tauto))) 0.2790441793912 0.316604346291. Proof. both. Qed.
Example generators_processing_9 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) (alpha_form 0.75) _ _ pi ref (named_curved 0.75 (alpha_form 0.75) _ _ real real n) h h h h (seq_NoDup 3 0) ltac:(intros y I; each I ltac:(simpl; tauto))) 0.2621143774611 0.3062620023888. Proof. both. Qed.
Example generators_forgetting : bounds (proj1 (forgetting four pi ref h h h h)) 0.1534056926223 0.415888308336. Proof. both. Qed.
Example generators_value : gives (proj1 (misprint_value four pi ref h h h h)) (-0.4395530335638). Proof. both. Qed.
Example rehearsal_gauge_gauge_1 : gives (gauge four forward pi ref 1 h h h) 0.3006928762565. Proof. both. Qed.
Example rehearsal_gauge_gauge_2 : gives (gauge four reverse pi ref 1 h h h) 0.3537826013701. Proof. both. Qed.
Example rehearsal_gauge_gauge_3 : gives (gauge four jensen_shannon pi ref 1 h h h) 0.1534056926223. Proof. both. Qed.
Example rehearsal_gauge_gauge_4 : gives (gauge four hellinger pi ref 1 h h h) 0.1583021731455. Proof. both. Qed.
Example rehearsal_gauge_gauge_5 : gives (gauge four pearson pi ref 1 h h h) 1.0504761904762. Proof. both. Qed.
Example rehearsal_gauge_gauge_6 : gives (gauge four neyman pi ref 1 h h h) 0.6458333333333. Proof. both. Qed.
Example rehearsal_gauge_gauge_7 : gives (gauge four (alpha_form 0.25) pi ref 1 h h h) 0.3322062413568. Proof. both. Qed.
Example rehearsal_gauge_gauge_8 : gives (gauge four (alpha_form 0.5) pi ref 1 h h h) 0.316604346291. Proof. both. Qed.
Example rehearsal_gauge_gauge_9 : gives (gauge four (alpha_form 0.75) pi ref 1 h h h) 0.3062620023888. Proof. both. Qed.
Example pinsker_kl_1 : bounds (proj1 (pinsker_both_ways four pi ref h h h h)) 0.09 0.1503464381283. Proof. both. Qed.
Example pinsker_kl_2 : bounds (proj2 (pinsker_both_ways four pi ref h h h h)) 0.09 0.1768913006851. Proof. both. Qed.
Example pinsker_js : bounds (pinsker_for_js four pi ref h h h h) 0.09 0.1534056926223. Proof. both. Qed.
Example forms_and_curvature_mean_1 : gives (proj1 (both_unbiased four forward pi ref h h)) 0.3006928762565. Proof. both. Qed.
Example forms_and_curvature_mean_2 : gives (proj2 (both_unbiased four forward pi ref h h)) 0.3006928762565. Proof. both. Qed.
Example forms_and_curvature_mean_3 : gives (proj1 (both_unbiased four reverse pi ref h h)) 0.3537826013701. Proof. both. Qed.
Example forms_and_curvature_mean_4 : gives (proj2 (both_unbiased four reverse pi ref h h)) 0.3537826013701. Proof. both. Qed.
Example forms_and_curvature_mean_5 : gives (proj1 (both_unbiased four jensen_shannon pi ref h h)) 0.1534056926223. Proof. both. Qed.
Example forms_and_curvature_mean_6 : gives (proj2 (both_unbiased four jensen_shannon pi ref h h)) 0.1534056926223. Proof. both. Qed.
Example forms_and_curvature_mean_7 : gives (proj1 (both_unbiased four (alpha_form 0.5) pi ref h h)) 0.316604346291. Proof. both. Qed.
Example forms_and_curvature_mean_8 : gives (proj2 (both_unbiased four (alpha_form 0.5) pi ref h h)) 0.316604346291. Proof. both. Qed.
Example rehearsal_gauge_minimiser_1 : bounds (proj1 (minimiser four forward _ _ rehearsed base right_two 1 1 (named_curved 0.5 forward _ _ real real n) h ltac:(intros y I V; each I ltac:(first [discriminate|numbers])) h h h h ltac:(left; field))) (-0.4175953989144) 0. Proof. both. Qed.
Example rehearsal_gauge_minimiser_2 : bounds (proj1 (minimiser four reverse _ _ rehearsed base right_two 1 (exp (-2)) (named_curved 0.5 reverse _ _ real real n) h ltac:(intros y I V; each I ltac:(first [discriminate|numbers])) h h h h ltac:(left; rewrite ln_exp; ring))) (-2.9480673485461) 1.1353352832366. Proof. both. Qed.
Example rehearsal_gauge_minimiser_3 : bounds (proj1 (minimiser four jensen_shannon _ _ rehearsed base right_two 1 (/ (2 * exp 1 - 1)) (named_curved 0.5 jensen_shannon _ _ real real n) h ltac:(intros y I V; each I ltac:(first [discriminate|numbers])) h h h h ltac:(left; exact js_root))) (-1.4347680508418) 0.5101198743553. Proof. both. Qed.
Example rehearsal_gauge_minimiser_4 : bounds (proj1 (minimiser four (alpha_form 0.5) _ _ rehearsed base right_two 1 (4 / 9) (named_curved 0.5 (alpha_form 0.5) _ _ real real n) h ltac:(intros y I V; each I ltac:(first [discriminate|numbers])) h h h h ltac:(left; exact half_root))) (-1.6760653221699) 0.3333333333333. Proof. both. Qed.
Example rehearsal_gauge_targets_1 : gives (proj2 (selected four 0.5 forward (1 / mass four base right_two) (asked_for (1 / mass four base right_two)) base right_two real real (asked_law (1 / mass four base right_two) ltac:(at_most_one)) ltac:(intros y I V; each I ltac:(first [discriminate|numbers])) h h h n) (fun y _ => in_proportion (1 / mass four base right_two) y)) 1. Proof. both. Qed.
Example rehearsal_gauge_targets_2 : gives (proj2 (selected four 0.5 k3 1 (asked_for 1) base right_two real real (asked_law 1 ltac:(at_most_one)) ltac:(intros y I V; each I ltac:(first [discriminate|numbers])) h h h n) (fun y _ => in_proportion 1 y)) 0.25. Proof. both. Qed.
Example rehearsal_gauge_targets_3 : gives (proj2 (selected four 0.5 reverse (exp (-1)) (asked_for (exp (-1))) base right_two real real (asked_law (exp (-1)) ltac:(at_most_one)) ltac:(intros y I V; each I ltac:(first [discriminate|numbers])) h h h n) (fun y _ => in_proportion (exp (-1)) y)) 0.0919698602929. Proof. both. Qed.
Example rehearsal_gauge_targets_4 : gives (proj2 (selected four 0.5 jensen_shannon 1 (asked_for 1) base right_two real real (asked_law 1 ltac:(at_most_one)) ltac:(intros y I V; each I ltac:(first [discriminate|numbers])) h h h n) (fun y _ => in_proportion 1 y)) 0.25. Proof. both. Qed.
Example rehearsal_gauge_targets_5 : gives (proj2 (selected four 0.5 (alpha_form 0.5) 1 (asked_for 1) base right_two real real (asked_law 1 ltac:(at_most_one)) ltac:(intros y I V; each I ltac:(first [discriminate|numbers])) h h h n) (fun y _ => in_proportion 1 y)) 0.25. Proof. both. Qed.
Example rehearsal_gauge_filtered_1 : gives (proj1 (proj2 (rehearsed_tokens three 3 strings_pi strings_ref correct all_laws all_laws h ltac:(strings_each maybe_zero)))) (-0.1488857486927). Proof. both. Qed.
Example rehearsal_gauge_filtered_2 : gives (eq_trans (eq_sym (proj1 (rehearsed_tokens three 3 strings_pi strings_ref correct all_laws all_laws h ltac:(strings_each maybe_zero)))) (proj1 (proj2 (rehearsed_tokens three 3 strings_pi strings_ref correct all_laws all_laws h ltac:(strings_each maybe_zero))))) (-0.1488857486927). Proof. both. Qed.
Example tokens_and_sequences_chain : gives (chain_rule three 3 strings_ref strings_pi all_laws ltac:(prefixes ltac:(intros _ t T; each T maybe_zero))) 0.3716554812265. Proof. split; cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv ln exp sqrt Rabs IZR Rle Rlt Rmax Rmin PI]; rewrite ?Rmult_0_r, ?Rmult_0_l; interval with (i_prec 80). Qed.
Example rehearsal_gauge_tokens_1 : bounds (proj1 (tokens_vanish (outcomes 2) 3 k3 runs_pi runs_base correct_runs (proj1 (token_losses_vanish 0.5 real real)) all_laws all_laws h valid_runs) [1%nat; 1%nat; 0%nat] ([], 0%nat) h eq_refl h) 0.2668285386435 0.5219413957573. Proof. both. Qed.
Example rehearsal_gauge_tokens_2 : bounds (proj1 (tokens_vanish (outcomes 2) 3 k2 runs_pi runs_base correct_runs (proj1 (proj2 (token_losses_vanish 0.5 real real))) all_laws all_laws h valid_runs) [1%nat; 1%nat; 0%nat] ([], 0%nat) h eq_refl h) 0.208892614747 0.4697413162738. Proof. both. Qed.
Example rehearsal_gauge_tokens_3 : bounds (proj1 (tokens_vanish (outcomes 2) 3 jensen_shannon runs_pi runs_base correct_runs (proj1 (proj2 (proj2 (token_losses_vanish 0.5 real real)))) all_laws all_laws h valid_runs) [1%nat; 1%nat; 0%nat] ([], 0%nat) h eq_refl h) 0.1477382928656 0.2739293345876. Proof. both. Qed.
Example rehearsal_gauge_tokens_4 : bounds (proj1 (tokens_vanish (outcomes 2) 3 (alpha_form 0.5) runs_pi runs_base correct_runs (proj1 (proj2 (proj2 (proj2 (token_losses_vanish 0.5 real real))))) all_laws all_laws h valid_runs) [1%nat; 1%nat; 0%nat] ([], 0%nat) h eq_refl h) 0.2983876091371 0.5541273855227. Proof. both. Qed.
Example rehearsal_gauge_tokens_5 : bounds (proj1 (tokens_vanish (outcomes 2) 3 half_distance runs_pi runs_base correct_runs (proj2 (proj2 (proj2 (proj2 (token_losses_vanish 0.5 real real))))) all_laws all_laws h valid_runs) [1%nat; 1%nat; 0%nat] ([], 0%nat) h eq_refl h) 0.4347826086957 0.804347826087. Proof. both. Qed.
Example rehearsal_gauge_mass : bounds (tokens_hold_the_mass (outcomes 2) 3 runs_pi runs_base correct_runs (filtered (strings (outcomes 2) 3) (prob runs_base) correct_runs [0%nat; 0%nat; 0%nat]) all_laws all_laws h h h valid_runs ltac:(strings_each ltac:(if_valid ltac:(first [apply Rle_refl|numbers])))) 0.0015347428757 0.4697413162738. Proof. both. Qed.
Example kl_estimators_values_1 : gives (proj1 (estimators_as_values four pi ref h h h h)) 0.3537826013701. Proof. both. Qed.
Example kl_estimators_values_2 : gives (proj2 (estimators_as_values four pi ref h h h h)) 0.3537826013701. Proof. both. Qed.
Example kl_estimators_nothing : gives (k1_in_the_loss four logits (unit 0) ref h h) 0. Proof. nothing. Qed.
Example kl_estimators_squared_1 : gives (k2_in_the_loss four logits (unit 0) ref h h) 0.4130047038999. Proof. slopes @reverse_kl_slope. Qed.
Example kl_estimators_squared_2 : gives (k2_in_the_loss four logits (unit 1) ref h h) (-0.1523799843592). Proof. slopes @reverse_kl_slope. Qed.
Example kl_estimators_squared_3 : gives (k2_in_the_loss four logits (unit 2) ref h h) (-0.1153852305369). Proof. slopes @reverse_kl_slope. Qed.
Example kl_estimators_squared_4 : gives (k2_in_the_loss four logits (unit 3) ref h h) (-0.1452394890038). Proof. slopes @reverse_kl_slope. Qed.
Example kl_estimators_forward_1 : gives (k3_in_the_loss four logits (unit 0) ref h h) 0.3. Proof. slopes @forward_slope. Qed.
Example kl_estimators_forward_2 : gives (k3_in_the_loss four logits (unit 1) ref h h) (-0.05). Proof. slopes @forward_slope. Qed.
Example kl_estimators_forward_3 : gives (k3_in_the_loss four logits (unit 2) ref h h) (-0.05). Proof. slopes @forward_slope. Qed.
Example kl_estimators_forward_4 : gives (k3_in_the_loss four logits (unit 3) ref h h) (-0.2). Proof. slopes @forward_slope. Qed.
Example kl_estimators_corrected_1 : gives (k3_with_the_ratio four logits (unit 0) ref h h) 0.4130047038999. Proof. slopes @reverse_kl_slope. Qed.
Example kl_estimators_corrected_2 : gives (k3_with_the_ratio four logits (unit 1) ref h h) (-0.1523799843592). Proof. slopes @reverse_kl_slope. Qed.
Example kl_estimators_corrected_3 : gives (k3_with_the_ratio four logits (unit 2) ref h h) (-0.1153852305369). Proof. slopes @reverse_kl_slope. Qed.
Example kl_estimators_corrected_4 : gives (k3_with_the_ratio four logits (unit 3) ref h h) (-0.1452394890038). Proof. slopes @reverse_kl_slope. Qed.
Example kl_estimators_reward_1 : gives (k1_in_the_reward four logits (unit 0) ref h h) 0.4130047038999. Proof. slopes @reverse_kl_slope. Qed.
Example kl_estimators_reward_2 : gives (k1_in_the_reward four logits (unit 1) ref h h) (-0.1523799843592). Proof. slopes @reverse_kl_slope. Qed.
Example kl_estimators_reward_3 : gives (k1_in_the_reward four logits (unit 2) ref h h) (-0.1153852305369). Proof. slopes @reverse_kl_slope. Qed.
Example kl_estimators_reward_4 : gives (k1_in_the_reward four logits (unit 3) ref h h) (-0.1452394890038). Proof. slopes @reverse_kl_slope. Qed.
Example alpha_dpg_gradient_1 : gives (dpg_descends four rehearsed_logits (unit 0) 0.25 base right_two h real real h h) 0.6615291814881. Proof. dpg_slopes. Qed.
Example alpha_dpg_gradient_2 : gives (dpg_descends four rehearsed_logits (unit 0) 0.5 base right_two h real real h h) 0.4042330365866. Proof. dpg_slopes. Qed.
Example alpha_dpg_gradient_3 : gives (dpg_descends four rehearsed_logits (unit 0) 0.75 base right_two h real real h h) 0.328639639739. Proof. dpg_slopes. Qed.
Example alpha_dpg_gradient_4 : gives (dpg_descends four rehearsed_logits (unit 1) 0.25 base right_two h real real h h) 0.4867498532847. Proof. dpg_slopes. Qed.
Example alpha_dpg_gradient_5 : gives (dpg_descends four rehearsed_logits (unit 1) 0.5 base right_two h real real h h) 0.2622096146693. Proof. dpg_slopes. Qed.
Example alpha_dpg_gradient_6 : gives (dpg_descends four rehearsed_logits (unit 1) 0.75 base right_two h real real h h) 0.187476598957. Proof. dpg_slopes. Qed.
Example alpha_dpg_gradient_7 : gives (dpg_descends four rehearsed_logits (unit 2) 0.25 base right_two h real real h h) (-0.637932797096). Proof. dpg_slopes. Qed.
Example alpha_dpg_gradient_8 : gives (dpg_descends four rehearsed_logits (unit 2) 0.5 base right_two h real real h h) (-0.3702459173644). Proof. dpg_slopes. Qed.
Example alpha_dpg_gradient_9 : gives (dpg_descends four rehearsed_logits (unit 2) 0.75 base right_two h real real h h) (-0.28673124372). Proof. dpg_slopes. Qed.
Example alpha_dpg_gradient_10 : gives (dpg_descends four rehearsed_logits (unit 3) 0.25 base right_two h real real h h) (-0.5103462376768). Proof. dpg_slopes. Qed.
Example alpha_dpg_gradient_11 : gives (dpg_descends four rehearsed_logits (unit 3) 0.5 base right_two h real real h h) (-0.2961967338915). Proof. dpg_slopes. Qed.
Example alpha_dpg_gradient_12 : gives (dpg_descends four rehearsed_logits (unit 3) 0.75 base right_two h real real h h) (-0.229384994976). Proof. dpg_slopes. Qed.
Example alpha_dpg_invalid_1 : gives (reward_of_invalid four 0.5 rehearsed base right_two 0%nat) 0. Proof. split; powers; interval with (i_prec 80). Qed.
Example alpha_dpg_invalid_2 : gives (reward_of_invalid four 0.5 rehearsed base right_two 1%nat) 0. Proof. split; powers; interval with (i_prec 80). Qed.
Example alpha_dpg_invalid_3 : gives (reward_of_invalid four 0.5 rehearsed base right_two 2%nat) (-2). Proof. split; powers; interval with (i_prec 80). Qed.
Example alpha_dpg_invalid_4 : gives (reward_of_invalid four 0.5 rehearsed base right_two 3%nat) (-2). Proof. split; powers; interval with (i_prec 80). Qed.
Example alpha_dpg_kldpg_1 : gives (kldpg_descends four rehearsed_logits (unit 0) base right_two h) 0.3. Proof. slopes @forward_slope. Qed.
Example alpha_dpg_kldpg_2 : gives (kldpg_descends four rehearsed_logits (unit 1) base right_two h) 0.15. Proof. slopes @forward_slope. Qed.
Example alpha_dpg_kldpg_3 : gives (kldpg_descends four rehearsed_logits (unit 2) base right_two h) (-0.25). Proof. slopes @forward_slope. Qed.
Example alpha_dpg_kldpg_4 : gives (kldpg_descends four rehearsed_logits (unit 3) base right_two h) (-0.2). Proof. slopes @forward_slope. Qed.
Example alpha_dpg_rate_1 : bounds (reward_rate pi ref 0.9 0%nat h h h) 0.042028234723 0.0960906027836. Proof. split; powers; repeat first [rewrite Rmax_left by lra|rewrite Rmax_right by lra]; interval with (i_prec 80). Qed.
Example alpha_dpg_rate_2 : bounds (reward_rate pi ref 0.9 1%nat h h h) 0.0013107495985 0.001386141872. Proof. split; powers; repeat first [rewrite Rmax_left by lra|rewrite Rmax_right by lra]; interval with (i_prec 80). Qed.
Example alpha_dpg_rate_3 : bounds (reward_rate pi ref 0.9 2%nat h h h) 0.0028711548015 0.0031120652808. Proof. split; powers; repeat first [rewrite Rmax_left by lra|rewrite Rmax_right by lra]; interval with (i_prec 80). Qed.
Example alpha_dpg_rate_4 : bounds (reward_rate pi ref 0.9 3%nat h h h) 0.1245829116419 0.1810423441219. Proof. split; powers; repeat first [rewrite Rmax_left by lra|rewrite Rmax_right by lra]; interval with (i_prec 80). Qed.
Example alpha_dpg_zero_1 : gives (proj1 (cost_of_the_invalid four rehearsed base right_two 0.5 h h h h h h h)) 1.0380326610849. Proof. split; powers; interval with (i_prec 90). Qed.
Example alpha_dpg_zero_2 : gives (proj1 (cost_of_the_invalid four rehearsed base right_two (1 / 8) h h h h h h h)) 3.7277260791284. Proof. split; powers; interval with (i_prec 90). Qed.
Example alpha_dpg_zero_3 : gives (proj1 (cost_of_the_invalid four rehearsed base right_two (1 / 32) h h h h h h h)) 14.5253360737374. Proof. split; powers; interval with (i_prec 90). Qed.
Example alpha_dpg_zero_4 : gives (proj1 (cost_of_the_invalid four rehearsed base right_two (1 / 128) h h h h h h h)) 57.7247495051942. Proof. split; powers; interval with (i_prec 90). Qed.
Example forms_and_curvature_gap_1 : gives (proj2 (variance_gap four (fun u => forward u + (u - 1)) pi ref h h)) 0.4593799640583. Proof. both. Qed.
Example forms_and_curvature_gap_2 : gives (proj2 (variance_gap four (fun u => reverse u - (u - 1)) pi ref h h)) 0.7932591396077. Proof. both. Qed.
Example forms_and_curvature_gap_3 : gives (proj2 (variance_gap four jensen_shannon pi ref h h)) 0.1291599555457. Proof. both. Qed.
Example forms_and_curvature_gap_4 : gives (proj2 (variance_gap four (alpha_form 0.5) pi ref h h)) 0.5532994828199. Proof. both. Qed.
Example forms_and_curvature_weak : bounds (weak_penalties 0.01 0.3 h h) 0.7 0.7639095340132. Proof. both. Qed.
Example tokens_and_sequences_deficit_1 : gives (proj1 (deficit (outcomes 3) (outcomes 3) one_pi one_ref two_pi two_ref 0.5 h h h h h h h h real real)) 0.9048193214912. Proof. both. Qed.
Example tokens_and_sequences_deficit_2 : gives (proj2 (deficit (outcomes 3) (outcomes 3) one_pi one_ref two_pi two_ref 0.25 h h h h h h h h real real)) 2.2512977236829. Proof. both. Qed.
Example tokens_and_sequences_deficit_3 : gives (proj2 (deficit (outcomes 3) (outcomes 3) one_pi one_ref two_pi two_ref 0.5 h h h h h h h h real real)) 2.1533417999923. Proof. both. Qed.
Example tokens_and_sequences_product_1 : bounds (proj1 (independent_tokens (outcomes 3) (outcomes 3) one_pi one_ref two_pi two_ref 0.5 h h h h h h h h h)) 0.9048193214912 1.1602695260393. Proof. both. Qed.
Example tokens_and_sequences_product_2 : bounds (proj2 (independent_tokens (outcomes 3) (outcomes 3) one_pi one_ref two_pi two_ref 0.25 h h h h h h h h h)) 2.2512977236829 2.5164942087491. Proof. both. Qed.
Example tokens_and_sequences_product_3 : bounds (proj2 (independent_tokens (outcomes 3) (outcomes 3) one_pi one_ref two_pi two_ref 0.5 h h h h h h h h h)) 2.1533417999923 2.5061872005827. Proof. both. Qed.
Example generators_curvature_1 : gives (the_limit _ _ _ (proj1 (curvatures 0.5 forward _ _ 0.8 real real real n))) 1. Proof. nothing. Qed.
Example generators_curvature_2 : gives (the_limit _ _ _ (proj1 (curvatures 0.5 reverse _ _ 0.8 real real real n))) 1. Proof. nothing. Qed.
Example generators_curvature_3 : gives (the_limit _ _ _ (proj1 (curvatures 0.5 jensen_shannon _ _ 0.8 real real real n))) 0.5. Proof. nothing. Qed.
Example generators_curvature_4 : gives (the_limit _ _ _ (proj1 (curvatures 0.5 hellinger _ _ 0.8 real real real n))) 0.5. Proof. nothing. Qed.
Example generators_curvature_5 : gives (the_limit _ _ _ (proj1 (curvatures 0.5 pearson _ _ 0.8 real real real n))) 2. Proof. nothing. Qed.
Example generators_curvature_6 : gives (the_limit _ _ _ (proj1 (curvatures 0.5 neyman _ _ 0.8 real real real n))) 2. Proof. nothing. Qed.
Example generators_curvature_7 : gives (the_limit _ _ _ (proj1 (curvatures 0.25 (alpha_form 0.25) _ _ 0.8 real real real n))) 1. Proof. nothing. Qed.
Example generators_curvature_8 : gives (the_limit _ _ _ (proj1 (curvatures 0.5 (alpha_form 0.5) _ _ 0.8 real real real n))) 1. Proof. nothing. Qed.
Example generators_curvature_9 : gives (the_limit _ _ _ (proj1 (curvatures 0.75 (alpha_form 0.75) _ _ 0.8 real real real n))) 1. Proof. nothing. Qed.
Definition first_logits (x : nat) : R := ln (vector [0.5; 0.3; 0.2] x).
Definition second (rows : list (list R)) (x y : nat) : R := nth y (nth x rows []) 0.
Definition second_pi := second [[0.5; 0.3; 0.2]; [0.2; 0.7; 0.1]; [0.3; 0.3; 0.4]].
Definition second_ref := second [[0.2; 0.4; 0.4]; [0.6; 0.3; 0.1]; [0.25; 0.25; 0.5]].
Ltac future := let E := fresh in lazymatch goal with |- gives ?p _ => pose proof p as E; cbv beta in E; split; cbv beta; [rewrite E|];
  rewrite reverse_kl_slope by first [discriminate|holds]; numbers end.
Example kl_estimators_future_1 : gives (kl_to_come three three first_logits (unit 0) (vector [0.3; 0.3; 0.4]) second_pi second_ref h h ltac:(intros x I; each I ltac:(repeat split; first [each_outcome|cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv IZR]; lra]))) 0.1973024929842. Proof. future. Qed.
Example kl_estimators_future_2 : gives (kl_to_come three three first_logits (unit 1) (vector [0.3; 0.3; 0.4]) second_pi second_ref h h ltac:(intros x I; each I ltac:(repeat split; first [each_outcome|cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv IZR]; lra]))) 0.0071862295951. Proof. future. Qed.
Example kl_estimators_future_3 : gives (kl_to_come three three first_logits (unit 2) (vector [0.3; 0.3; 0.4]) second_pi second_ref h h ltac:(intros x I; each I ltac:(repeat split; first [each_outcome|cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv IZR]; lra]))) (-0.2044887225793). Proof. future. Qed.
