(* The theorems on transfer and on what advantages retain at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws Groups Lotteries Strategies Retention Binomials Numbers Samples.
Import ListNotations. Open Scope R_scope.
Ltac weighed := split; unfold weight; binomials.
Example group_advantages_rises_1 : bounds (rises_from_half 4 0.7 0.9 h h h) 1.4155960043842 1.4638268590218. Proof. weighed. Qed.
Example group_advantages_rises_2 : bounds (rises_from_half 8 0.7 0.9 h h h) 1.8359579340858 2.1773537339824. Proof. weighed. Qed.
Example group_advantages_rises_3 : bounds (rises_from_half 16 0.7 0.9 h h h) 2.0260469233145 2.7573824628584. Proof. weighed. Qed.
Example strategies_growth_1 : gives (the_limit _ _ _ (proj1 (rare_beside 12 0.1 0.9 0 h))) (-0.7333333333333). Proof. nothing. Qed.
Example strategies_growth_2 : gives (the_limit _ _ _ (proj1 (proj2 (rare_beside 12 0.1 0.9 0 h)))) (-2.5403411844344). Proof. nothing. Qed.
Example strategies_growth_3 : gives (the_limit _ _ _ (proj2 (proj2 (rare_beside 12 0.1 0.9 0 h)))) 0.2. Proof. nothing. Qed.
Example retention_symmetric_1 : gives (symmetric 0.1 4 h) 1.4638268590218. Proof. weighed. Qed.
Example retention_symmetric_2 : gives (symmetric 0.1 8 h) 2.1773537339824. Proof. weighed. Qed.
Example retention_symmetric_3 : gives (symmetric 0.1 16 h) 2.7573824628584. Proof. weighed. Qed.
Example retention_two : gives (proj1 (two_apart 8 0.6 0.4 0.3 h h)) 0.3671915868172. Proof. split; unfold first_drive, weight; binomials. Qed.
(* Four strategies, of which each solves prompts of its own. *)
Definition own (t s : nat) : R := if Nat.eqb t s then 1 else 0.
Definition shares_of_prompts := vector [0.4; 0.3; 0.2; 0.1].
Lemma own_chances : chances four four own.
Proof. intros t s I J. each I ltac:(each J numbers). Qed.
Ltac within_half := let t := fresh in let I := fresh in intros t I; each I ltac:(unfold solves; numbers).
Example retention_concave : bounds (concave_everywhere four four shares_of_prompts own 4 (vector [0.7; 0.1; 0.1; 0.1]) (vector [0.1; 0.7; 0.1; 0.1])
  h h h h own_chances) 0.7032333333333 0.7725333333333. Proof. both. Qed.
Example retention_concave_below_half : bounds (concave_below_half four four shares_of_prompts own 8 (vector [0.5; 0.3; 0.1; 0.1]) (vector [0.1; 0.5; 0.3; 0.1])
  h h h h own_chances ltac:(within_half) ltac:(within_half)) 0.5934870016003 0.6044810537659.
Proof. split; unfold shared, solves, objective; binomials. Qed.
Definition three_left := vector [0.4; 0.3; 0.3; 0].
Lemma means : weight by_mean 4 0.4 = 1.96 /\ weight by_mean 4 0.3 = 2.19 /\ weight by_mean 4 0 = 3.
Proof. repeat split; rewrite mean_weight by lia; cbn [sum seq Nat.sub pow]; lra. Qed.
Definition maxrl_merits := vector [1 / 1.96 / (1 / 1.96 + 1 / 2.19 + 1 / 2.19 + 1 / 6); 1 / 2.19 / (1 / 1.96 + 1 / 2.19 + 1 / 2.19 + 1 / 6);
  1 / 2.19 / (1 / 1.96 + 1 / 2.19 + 1 / 2.19 + 1 / 6); 1 / 6 / (1 / 1.96 + 1 / 2.19 + 1 / 2.19 + 1 / 6)].
Lemma maxrl_level : level four maxrl_merits (weight by_mean 4) three_left (1 / (1 / 1.96 + 1 / 2.19 + 1 / 2.19 + 1 / 6)).
Proof.
  destruct means as (A & B & C). intros s I. each I ltac:(cbn [vector three_left maxrl_merits nth]; unfold three_left, maxrl_merits, vector; cbn [nth];
    rewrite ?A, ?B, ?C; split; [|intro]; lra).
Qed.
Example retention_water : bounds (maxrl_water four maxrl_merits 4 (vector [0.7; 0.1; 0.1; 0.1]) three_left _ h h h h maxrl_level)
  0.6684405504928 0.7593987165587. Proof. both. Qed.
Definition std_shares := vector [0.4; 0.3; 0.2; 0.1].
Definition total_merit := sum four (fun s => 1 / weight by_deviation 8 (std_shares s)).
Definition std_merits (s : nat) : R := 1 / weight by_deviation 8 (std_shares s) / total_merit.
Lemma weights_of_shares : forall s, In s four -> 0 < weight by_deviation 8 (std_shares s).
Proof. intros s I. apply (two_apart 8 0 0 (std_shares s)); [lia|each I ltac:(split; numbers)]. Qed.
Lemma std_level : 0 < total_merit /\ level four std_merits (weight by_deviation 8) std_shares (1 / total_merit).
Proof.
  assert (P : forall s, In s four -> 0 < 1 / weight by_deviation 8 (std_shares s)) by (intros s I; apply Rdiv_lt_0_compat; [lra|apply weights_of_shares, I]).
  assert (T : 0 < total_merit).
  { apply Rlt_le_trans with (1 / weight by_deviation 8 (std_shares 0%nat)); [apply P; simpl; auto|].
    apply (term_le_sum four (fun s => 1 / weight by_deviation 8 (std_shares s))); [intros s I; apply Rlt_le, P, I|simpl; auto]. }
  split; [exact T|]. intros s I. assert (W := weights_of_shares s I). unfold std_merits. set (w := weight by_deviation 8 (std_shares s)) in *.
  split; [right|intros _]; field; lra.
Qed.
Lemma std_merits_weigh : weights four std_merits.
Proof. intros s I. assert (W := weights_of_shares s I). apply Rmult_le_pos; [apply Rlt_le, Rdiv_lt_0_compat; lra|apply Rlt_le, Rinv_0_lt_compat, std_level]. Qed.
Example retention_coexist : bounds (std_water four std_merits 8 (vector [0.5; 0.3; 0.1; 0.1]) std_shares _ h h h std_merits_weigh (proj2 std_level) ltac:(within_half) ltac:(within_half))
  0.5405917184377 0.5433956058031. Proof. split; unfold std_merits, total_merit, objective, weight; binomials. Qed.
Example strategies_maxrl : bounds (maxrl_drive 0.1 0.1 0.9 8 ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)) (-0.4782968) (-0.2).
Proof. split; unfold weight; binomials. Qed.
