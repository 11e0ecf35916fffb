(* The theorems on divergences and losses (family B) at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws Pinsker KLControl Frontier Divergences Updates Trees Generators Refuted Forms Rehearsal Products
  Selection Motion Analysis Rates Numbers.
Import ListNotations. Open Scope R_scope.
Notation four := (outcomes 4).
Notation h := ltac:(holds) (only parsing).
Notation real := ltac:(lra) (only parsing).
(* A named generator, found in their list with its derivatives. *)
Ltac pick := unfold named, asked; simpl; repeat first [left; reflexivity|right].
Notation n := ltac:(pick) (only parsing).
Definition pi := vector [0.4; 0.3; 0.2; 0.1].
Definition ref := vector [0.1; 0.35; 0.25; 0.3].
Definition base := vector [0.15; 0.1; 0.45; 0.3].
Definition rehearsed := vector [0.3; 0.25; 0.25; 0.2].
Definition right_two := verdicts [true; true; false; false].
Ltac maxed := split; cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv ln exp sqrt Rabs IZR Rle Rlt Rmax Rmin PI];
  repeat first [rewrite Rmax_left by lra|rewrite Rmax_right by lra]; interval with (i_prec 80).
Example B1_convex_1 : bounds (proj1 (generators_convex 0.5 forward _ _ 0.4 2.5 0.3 real real n h h h)) (-0.0295588022415) 0.3665162927497.
Proof. both. Qed.
Example B1_convex_2 : bounds (proj1 (generators_convex 0.5 reverse _ _ 0.4 2.5 0.3 real real n h h h)) 0.0304455663088 0.4306566439809.
Proof. both. Qed.
Example B1_convex_3 : bounds (proj1 (generators_convex 0.5 jensen_shannon _ _ 0.4 2.5 0.3 real real n h h h)) 0.0002216829465 0.1926015117086.
Proof. both. Qed.
Example B1_convex_4 : bounds (proj1 (generators_convex 0.5 hellinger _ _ 0.4 2.5 0.3 real real n h h h)) 0.0002216869816 0.1958789571023.
Proof. both. Qed.
Example B1_convex_5 : bounds (proj1 (generators_convex 0.5 pearson _ _ 0.4 2.5 0.3 real real n h h h)) 0.0009 0.927.
Proof. both. Qed.
Example B1_convex_6 : bounds (proj1 (generators_convex 0.5 neyman _ _ 0.4 2.5 0.3 real real n h h h)) 0.0008737864078 0.9.
Proof. both. Qed.
Example B1_convex_7 : bounds (proj1 (generators_convex 0.25 (alpha_form 0.25) _ _ 0.4 2.5 0.3 real real n h h h)) 0.0004444681094 0.3944831632719.
Proof. both. Qed.
Example B1_convex_8 : bounds (proj1 (generators_convex 0.5 (alpha_form 0.5) _ _ 0.4 2.5 0.3 real real n h h h)) 0.0004433739631 0.3917579142047.
Proof. both. Qed.
Example B1_convex_9 : bounds (proj1 (generators_convex 0.75 (alpha_form 0.75) _ _ 0.4 2.5 0.3 real real n h h h)) 0.0004422838521 0.3924291251103.
Proof. both. Qed.
Example B1_variation : bounds (proj1 (half_distance_convex 0.4 2.5 0.3 h)) 0.015 0.435.
Proof. both. Qed.
Example B1_nonnegative_1 : bounds (proj1 (nonnegative four forward _ pi ref (named_touch 0.5 forward _ _ real real n) h h h h) 0%nat h) 0.161370563888 0.3006928762565.
Proof. both. Qed.
Example B1_nonnegative_2 : bounds (proj1 (nonnegative four reverse _ pi ref (named_touch 0.5 reverse _ _ real real n) h h h h) 0%nat h) 0.254517744448 0.3537826013701.
Proof. both. Qed.
Example B1_nonnegative_3 : bounds (proj1 (nonnegative four jensen_shannon _ pi ref (named_touch 0.5 jensen_shannon _ _ real real n) h h h h) 0%nat h) 0.0963723785109 0.1534056926223.
Proof. both. Qed.
Example B1_nonnegative_4 : bounds (proj1 (nonnegative four hellinger _ pi ref (named_touch 0.5 hellinger _ _ real real n) h h h h) 0%nat h) 0.1 0.1583021731455.
Proof. both. Qed.
Example B1_nonnegative_5 : bounds (proj1 (nonnegative four pearson _ pi ref (named_touch 0.5 pearson _ _ real real n) h h h h) 0%nat h) 0.9 1.0504761904762.
Proof. both. Qed.
Example B1_nonnegative_6 : bounds (proj1 (nonnegative four neyman _ pi ref (named_touch 0.5 neyman _ _ real real n) h h h h) 3%nat h) 0.4 0.6458333333333.
Proof. both. Qed.
Example B1_nonnegative_7 : bounds (proj1 (nonnegative four (alpha_form 0.25) _ pi ref (named_touch 0.25 (alpha_form 0.25) _ _ real real n) h h h h) 0%nat h) 0.224838866802 0.3322062413568.
Proof. both. Qed.
Example B1_nonnegative_8 : bounds (proj1 (nonnegative four (alpha_form 0.5) _ pi ref (named_touch 0.5 (alpha_form 0.5) _ _ real real n) h h h h) 0%nat h) 0.2 0.316604346291.
Proof. both. Qed.
Example B1_nonnegative_9 : bounds (proj1 (nonnegative four (alpha_form 0.75) _ pi ref (named_touch 0.75 (alpha_form 0.75) _ _ real real n) h h h h) 0%nat h) 0.1790861000677 0.3062620023888.
Proof. both. Qed.
Example B1_nonnegative_10 : bounds (proj1 (nonnegative four half_distance _ pi ref half_distance_touches h h h h) 0%nat h) 0.15 0.3.
Proof. both. Qed.
Example B1_textbook_1 : gives (proj1 (textbook four pi ref 0.5 h h h h real real)) 0.3006928762565.
Proof. both. Qed.
Example B1_textbook_2 : gives (proj1 (proj2 (textbook four pi ref 0.5 h h h h real real))) 0.3537826013701.
Proof. both. Qed.
Example B1_textbook_3 : gives (proj1 (proj2 (proj2 (textbook four pi ref 0.5 h h h h real real)))) 0.1534056926223.
Proof. both. Qed.
Example B1_textbook_4 : gives (proj1 (proj2 (proj2 (proj2 (textbook four pi ref 0.5 h h h h real real))))) 0.1583021731455.
Proof. both. Qed.
Example B1_textbook_5 : gives (proj1 (proj2 (proj2 (proj2 (proj2 (textbook four pi ref 0.5 h h h h real real)))))) 1.0504761904762.
Proof. both. Qed.
Example B1_textbook_6 : gives (proj1 (proj2 (proj2 (proj2 (proj2 (proj2 (textbook four pi ref 0.5 h h h h real real))))))) 0.6458333333333.
Proof. both. Qed.
Example B1_textbook_7 : gives (proj1 (proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (textbook four pi ref 0.5 h h h h real real)))))))) 0.3.
Proof. both. Qed.
Example B1_textbook_8 : gives (proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (textbook four pi ref 0.25 h h h h real real)))))))) 0.3322062413568.
Proof. both. Qed.
Example B1_textbook_9 : gives (proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (textbook four pi ref 0.5 h h h h real real)))))))) 0.316604346291.
Proof. both. Qed.
Example B1_textbook_10 : gives (proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (textbook four pi ref 0.75 h h h h real real)))))))) 0.3062620023888.
Proof. both. Qed.
Example B1_limits_1 : bounds (proj1 (alpha_ends four pi ref 0.25 h h h h h)) 0.2176413159173 0.4318404835755.
Proof. maxed. Qed.
Example B1_limits_2 : bounds (proj1 (alpha_ends four pi ref 0.5 h h h h h)) 0.1423907031111 0.287893655717.
Proof. maxed. Qed.
Example B1_limits_3 : bounds (proj1 (alpha_ends four pi ref 0.75 h h h h h)) 0.0709963744649 0.1439468278585.
Proof. maxed. Qed.
Example B1_limits_4 : bounds (proj1 (alpha_ends four pi ref (1023 / 1024) h h h h h)) 0.0002807553637 0.0005622922963.
Proof. maxed. Qed.
Example B1_limits_5 : bounds (proj1 (alpha_ends four pi ref (1 / 1024) h h h h h)) 0.3003474802461 0.5752250191377.
Proof. maxed. Qed.
Example B1_limits_6 : bounds (proj2 (alpha_ends four pi ref 0.25 h h h h h)) 0.1046279203525 0.1439468278585.
Proof. maxed. Qed.
Example B1_limits_7 : bounds (proj2 (alpha_ends four pi ref 0.5 h h h h h)) 0.1954804282246 0.287893655717.
Proof. maxed. Qed.
Example B1_limits_8 : bounds (proj2 (alpha_ends four pi ref 0.75 h h h h h)) 0.2772171007729 0.4318404835755.
Proof. maxed. Qed.
Example B1_limits_9 : bounds (proj2 (alpha_ends four pi ref (1023 / 1024) h h h h h)) 0.3534889433829 0.5752250191377.
Proof. maxed. Qed.
Example B1_limits_10 : bounds (proj2 (alpha_ends four pi ref (1 / 1024) h h h h h)) 0.0004424826803 0.0005622922963.
Proof. maxed. Qed.
Example B1_reversal_1 : gives (reversal four forward pi ref h h) 0.3006928762565.
Proof. both. Qed.
Example B1_reversal_2 : gives (reversal four reverse pi ref h h) 0.3537826013701.
Proof. both. Qed.
Example B1_reversal_3 : gives (reversal four jensen_shannon pi ref h h) 0.1534056926223.
Proof. both. Qed.
Example B1_reversal_4 : gives (reversal four hellinger pi ref h h) 0.1583021731455.
Proof. both. Qed.
Example B1_reversal_5 : gives (reversal four pearson pi ref h h) 1.0504761904762.
Proof. both. Qed.
Example B1_reversal_6 : gives (reversal four neyman pi ref h h) 0.6458333333333.
Proof. both. Qed.
Example B1_reversal_7 : gives (reversal four (alpha_form 0.25) pi ref h h) 0.3322062413568.
Proof. both. Qed.
Example B1_reversal_8 : gives (reversal four (alpha_form 0.5) pi ref h h) 0.316604346291.
Proof. both. Qed.
Example B1_reversal_9 : gives (reversal four (alpha_form 0.75) pi ref h h) 0.3062620023888.
Proof. both. Qed.
Example B1_reversal_10 : gives (reversal four half_distance pi ref h h) 0.3.
Proof. both. Qed.
Example B1_processing_1 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) forward _ _ pi ref (named_curved 0.5 forward _ _ real real n) h h h h (seq_NoDup 3 0) h) 0.2486979937912 0.3006928762565.
Proof. both. Qed.
Example B1_processing_2 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) reverse _ _ pi ref (named_curved 0.5 reverse _ _ real real n) h h h h (seq_NoDup 3 0) h) 0.3264317994287 0.3537826013701.
Proof. both. Qed.
Example B1_processing_3 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) jensen_shannon _ _ pi ref (named_curved 0.5 jensen_shannon _ _ real real n) h h h h (seq_NoDup 3 0) h) 0.1356113582983 0.1534056926223.
Proof. both. Qed.
Example B1_processing_4 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) hellinger _ _ pi ref (named_curved 0.5 hellinger _ _ real real n) h h h h (seq_NoDup 3 0) h) 0.1395220896956 0.1583021731455.
Proof. both. Qed.
Example B1_processing_5 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) pearson _ _ pi ref (named_curved 0.5 pearson _ _ real real n) h h h h (seq_NoDup 3 0) h) 1.0207792207792 1.0504761904762.
Proof. both. Qed.
Example B1_processing_6 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) neyman _ _ pi ref (named_curved 0.5 neyman _ _ real real n) h h h h (seq_NoDup 3 0) h) 0.4416666666667 0.6458333333333.
Proof. both. Qed.
Example B1_processing_7 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) (alpha_form 0.25) _ _ pi ref (named_curved 0.25 (alpha_form 0.25) _ _ real real n) h h h h (seq_NoDup 3 0) h) 0.3001865713978 0.3322062413568.
Proof. both. Qed.
Example B1_processing_8 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) (alpha_form 0.5) _ _ pi ref (named_curved 0.5 (alpha_form 0.5) _ _ real real n) h h h h (seq_NoDup 3 0) h) 0.2790441793912 0.316604346291.
Proof. both. Qed.
Example B1_processing_9 : bounds (merging four (outcomes 3) (fun y => Nat.min y 2) (alpha_form 0.75) _ _ pi ref (named_curved 0.75 (alpha_form 0.75) _ _ real real n) h h h h (seq_NoDup 3 0) h) 0.2621143774611 0.3062620023888.
Proof. both. Qed.
Example B1_forgetting : bounds (proj1 (forgetting four pi ref h h h h)) 0.1534056926223 0.415888308336.
Proof. both. Qed.
Example B2_value : gives (proj1 (misprint_value four pi ref h h h h)) (-0.4395530335638).
Proof. both. Qed.
Example B3_gauge_1 : gives (gauge four forward pi ref 1 h h h) 0.3006928762565.
Proof. both. Qed.
Example B3_gauge_2 : gives (gauge four reverse pi ref 1 h h h) 0.3537826013701.
Proof. both. Qed.
Example B3_gauge_3 : gives (gauge four jensen_shannon pi ref 1 h h h) 0.1534056926223.
Proof. both. Qed.
Example B3_gauge_4 : gives (gauge four hellinger pi ref 1 h h h) 0.1583021731455.
Proof. both. Qed.
Example B3_gauge_5 : gives (gauge four pearson pi ref 1 h h h) 1.0504761904762.
Proof. both. Qed.
Example B3_gauge_6 : gives (gauge four neyman pi ref 1 h h h) 0.6458333333333.
Proof. both. Qed.
Example B3_gauge_7 : gives (gauge four (alpha_form 0.25) pi ref 1 h h h) 0.3322062413568.
Proof. both. Qed.
Example B3_gauge_8 : gives (gauge four (alpha_form 0.5) pi ref 1 h h h) 0.316604346291.
Proof. both. Qed.
Example B3_gauge_9 : gives (gauge four (alpha_form 0.75) pi ref 1 h h h) 0.3062620023888.
Proof. both. Qed.
Example B4_kl_1 : bounds (proj1 (pinsker_both_ways four pi ref h h h h)) 0.09 0.1503464381283.
Proof. both. Qed.
Example B4_kl_2 : bounds (proj2 (pinsker_both_ways four pi ref h h h h)) 0.09 0.1768913006851.
Proof. both. Qed.
Example B4_js : bounds (pinsker_for_js four pi ref h h h h) 0.09 0.1534056926223.
Proof. both. Qed.
Example B8_mean_1 : gives (proj1 (both_unbiased four forward pi ref h h)) 0.3006928762565.
Proof. both. Qed.
Example B8_mean_2 : gives (proj2 (both_unbiased four forward pi ref h h)) 0.3006928762565.
Proof. both. Qed.
Example B8_mean_3 : gives (proj1 (both_unbiased four reverse pi ref h h)) 0.3537826013701.
Proof. both. Qed.
Example B8_mean_4 : gives (proj2 (both_unbiased four reverse pi ref h h)) 0.3537826013701.
Proof. both. Qed.
Example B8_mean_5 : gives (proj1 (both_unbiased four jensen_shannon pi ref h h)) 0.1534056926223.
Proof. both. Qed.
Example B8_mean_6 : gives (proj2 (both_unbiased four jensen_shannon pi ref h h)) 0.1534056926223.
Proof. both. Qed.
Example B8_mean_7 : gives (proj1 (both_unbiased four (alpha_form 0.5) pi ref h h)) 0.316604346291.
Proof. both. Qed.
Example B8_mean_8 : gives (proj2 (both_unbiased four (alpha_form 0.5) pi ref h h)) 0.316604346291.
Proof. both. Qed.
