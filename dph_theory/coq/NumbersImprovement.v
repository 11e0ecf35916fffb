(* The theorems on improvement bounds at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws Extremes KLControl Divergences Limits Trees Processing Generators Returns Sharp Stated Radius Numbers.
Import ListNotations. Open Scope R_scope.

(* Three states, two actions, gamma = 1/2 (or 0, for the values called `now`). *)
Notation states := (outcomes 3).
Notation actions := (outcomes 2).
Definition table (rows : list (list R)) (s a : nat) : R := nth a (nth s rows []) 0.
Definition moves (s a s' : nat) : R := nth s' (nth a (nth s [[[0.5; 0.3; 0.2]; [0.1; 0.6; 0.3]]; [[0.3; 0.3; 0.4]; [0.2; 0.7; 0.1]];
  [[0.6; 0.2; 0.2]; [0.1; 0.2; 0.7]]] []) []) 0.
Definition pays := table [[1; 0]; [0.5; 0.2]; [0; 0.8]].
Definition begin := vector [0.5; 0.3; 0.2].
Definition old := table [[0.5; 0.5]; [0.3; 0.7]; [0.6; 0.4]].
Definition new := table [[0.6; 0.4]; [0.35; 0.65]; [0.5; 0.5]].
Definition pef := table [[0.8; 0.2]; [0.6; 0.4]; [0.2; 0.8]].
Definition old_value := vector [148126 / 172225; 110356 / 172225; 119716 / 172225].
Definition old_visits := vector [2746 / 6889; 2550 / 6889; 1593 / 6889].
Definition new_value := vector [68019 / 66434; 47177 / 66434; 55735 / 66434].
Definition new_visits := vector [13365 / 33217; 11920 / 33217; 7932 / 33217].
Definition pef_value := vector [271198 / 192975; 184948 / 192975; 241598 / 192975].
Definition pef_visits := vector [1040 / 2573; 835 / 2573; 698 / 2573].
Definition old_now := vector [1 / 2; 29 / 100; 8 / 25].
Definition new_now := vector [3 / 5; 61 / 200; 2 / 5].
Definition pef_now := vector [4 / 5; 19 / 50; 16 / 25].
Ltac facts := cbv beta; lazymatch goal with
  | |- _ /\ _ => split; facts
  | |- channel _ _ _ => let y := fresh in let I := fresh in intros y I; each I facts
  | |- values _ _ _ _ _ _ _ => let s := fresh in let I := fresh in intros s I; each I exact_sum
  | |- visited _ _ _ _ _ _ _ => split; [holds|let s := fresh in let I := fresh in intros s I; each I exact_sum]
  | |- forall y, In y _ -> _ => let y := fresh in let I := fresh in intros y I; each I facts
  | |- _ => holds end.
Lemma all : pair states actions moves pays 0.5 begin new old old_value new_value new_visits old_visits.
Proof. unfold pair, process. facts. Qed.
Lemma all_now : pair states actions moves pays 0 begin new old old_now new_now begin begin.
Proof. unfold pair, process. facts. Qed.
Lemma anchor : channel states actions pef /\ values states actions moves pays 0.5 pef pef_value /\
  visited states actions moves 0.5 begin pef pef_visits.
Proof. facts. Qed.
Lemma anchor_now : channel states actions pef /\ values states actions moves pays 0 pef pef_now /\
  visited states actions moves 0 begin pef begin.
Proof. facts. Qed.
(* The largest and the least of lists are enclosed once each, since their formulas name every member many times. *)
Ltac known x := let y := eval cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv ln exp sqrt Rabs IZR] in x in let H := fresh in let v := fresh in
  interval_intro y with (i_prec 80) as H; set (v := x) in *; change y with v in H; clearbody v.
Ltac in_pieces := unfold bounds, gives, trpo_bound, anchor_bound; repeat match goal with
  | |- context [worst_advantage ?a ?b ?c ?d ?e ?f] => known (worst_advantage a b c d e f)
  | |- context [farthest ?a ?b ?c ?d] => known (farthest a b c d)
  | |- context [anchor_penalty ?a ?b ?c ?d ?e ?f ?g ?h] => known (anchor_penalty a b c d e f g h)
  | |- context [least_gain ?a ?b ?c ?d ?e ?f ?g] => known (least_gain a b c d e f g)
  | |- context [span ?a ?b] => known (span a b)
  | |- context [radius ?a ?b ?c ?d ?e] => known (radius a b c d e) end; both.
Example trpo_bound_trpo : bounds (trust_region states actions moves pays 0.5 begin new old _ _ _ _ all) (-0.0003915515871) 0.0104114385252. Proof. in_pieces. Qed.
Example trpo_bound_sharp : bounds (sharp_form states actions moves pays 0.5 begin new old _ _ _ _ all) (-0.0003915515871) 0.0094649441138. Proof. in_pieces. Qed.
Example trpo_bound_attained : gives (proj2 (proj2 (proj2 (sharp_form_attained 0.9 0.5 1 ltac:(holds) ltac:(holds) ltac:(holds))))) 0.1636363636364. Proof. in_pieces. Qed.
Example trpo_bound_span_1 : bounds (shortfall_by_span states actions moves pays 0.5 begin new old _ _ _ _ all) (-0.0003915515871) 0.0035921171084. Proof. in_pieces. Qed.
Example trpo_bound_span_2 : bounds (span_below_trpo states actions moves pays 0.5 begin new old _ _ _ _ all) 0.0035921171084 0.0104114385252. Proof. in_pieces. Qed.
Example anchor_bound_anchor : bounds (anchored states actions moves pays 0.5 begin new pef old_value _ _ _ _ (proj1 all) (proj1 (proj2 all))
  (proj1 anchor) (proj1 (proj2 (proj2 (proj2 all)))) (proj1 (proj2 anchor)) (proj1 (proj2 (proj2 (proj2 (proj2 (proj2 all))))))
  (proj2 (proj2 anchor))) (-0.1327606890836) 0.0657353599976. Proof. in_pieces. Qed.
Definition both_of := both_bounds states actions moves pays 0.5 begin new old pef _ _ _ _ _ _ 0.4 all (proj1 anchor)
  (proj1 (proj2 anchor)) (proj2 (proj2 anchor)) ltac:(holds).
Example anchor_bound_maximum_1 : bounds (proj1 both_of) 0.8495477710136 0.8927597314628. Proof. in_pieces. Qed.
Example anchor_bound_maximum_2 : bounds (proj2 both_of) 0.6372796883857 0.8927597314628. Proof. in_pieces. Qed.
Example anchor_bound_beats : gives (proj1 (anchor_beats states actions moves pays 0.5 begin old pef old_value pef_value 0.25 ltac:(holds) ltac:(holds))) 0.0151318488099.
Proof. in_pieces. Qed.
Example anchor_bound_myopic : bounds (proj1 (myopic states actions moves pays 0 begin new old pef _ _ _ _ _ _ all_now (proj1 anchor_now)
  (proj1 (proj2 anchor_now)) (proj2 (proj2 anchor_now)) eq_refl)) 0.251 0.4715. Proof. in_pieces. Qed.

Lemma full : everywhere states actions new /\ everywhere states actions old /\ everywhere states actions pef.
Proof. repeat split; intros s I; each I holds. Qed.
Example trpo_bound_divergence_1 : bounds (trust_region_of states actions moves pays 0.5 begin _ _ new old _ _ _ _ ltac:(left; reflexivity) all (proj1 full)
  (proj1 (proj2 full))) (-0.0003915515871) 0.0106253921606. Proof. in_pieces. Qed.
Example trpo_bound_divergence_2 : bounds (trust_region_of states actions moves pays 0.5 begin _ _ new old _ _ _ _ ltac:(right; left; reflexivity) all (proj1 full)
  (proj1 (proj2 full))) (-0.0003915515871) 0.0106253921606. Proof. in_pieces. Qed.
Example trpo_bound_divergence_3 : bounds (trust_region_of states actions moves pays 0.5 begin _ _ new old _ _ _ _ ltac:(do 2 right; left; reflexivity) all (proj1 full)
  (proj1 (proj2 full))) (-0.0003915515871) 0.0105351054441. Proof. in_pieces. Qed.
Example trpo_bound_divergence_4 : bounds (trust_region_of states actions moves pays 0.5 begin _ _ new old _ _ _ _ ltac:(do 3 right; left; reflexivity) all (proj1 full)
  (proj1 (proj2 full))) (-0.0003915515871) 0.0105443863376. Proof. in_pieces. Qed.
Definition anchored_by f c (I : In (f, c) compared) := anchored_of states actions moves pays 0.5 begin f c new pef old_value _ _ _ _ I (proj1 all)
  (proj1 (proj2 all)) (proj1 anchor) (proj1 (proj2 (proj2 (proj2 all)))) (proj1 (proj2 anchor))
  (proj1 (proj2 (proj2 (proj2 (proj2 (proj2 all)))))) (proj2 (proj2 anchor)) (proj1 full) (proj2 (proj2 full)).
Example anchor_bound_divergence_1 : bounds (anchored_by _ _ ltac:(left; reflexivity)) 0.0299998700793 0.533811921681. Proof. in_pieces. Qed.
Example anchor_bound_divergence_2 : bounds (anchored_by _ _ ltac:(right; left; reflexivity)) 0.0299998700793 0.5743665669492. Proof. in_pieces. Qed.
Example anchor_bound_divergence_3 : bounds (anchored_by _ _ ltac:(do 2 right; left; reflexivity)) 0.0299998700793 0.5474069438568. Proof. in_pieces. Qed.
Example anchor_bound_divergence_4 : bounds (anchored_by _ _ ltac:(do 3 right; left; reflexivity)) 0.0299998700793 0.5508791639592. Proof. in_pieces. Qed.

(* Two tokens, and rewards in [0, 1]. *)
Definition ref_tokens := tree [0.8; 0.2] [[0.9; 0.1]; [0.5; 0.5]].
Definition pi_tokens := tree [0.6; 0.4] [[0.7; 0.3]; [0.2; 0.8]].
Definition reward (h : list nat) : R := match h with [b; a] => nth (2 * a + b) [1; 0.25; 0; 0.75] 0 | _ => 0 end.
Ltac prefixes := let m := fresh in let I := fresh in let h := fresh in let J := fresh in
  intros m I h J _; each I ltac:(each J holds).
Example rehearsal_guarantee_reference : bounds (reference_return nat actions 2 ref_tokens pi_tokens reward ltac:(prefixes) ltac:(prefixes) ltac:(prefixes)
  ltac:(holds)) 0.0318424897159 0.2292023373811. Proof. both. Qed.
Example rehearsal_guarantee_inverted : bounds (least_return nat actions 2 ref_tokens pi_tokens reward 0.48835526280799279 ltac:(prefixes) ltac:(prefixes) ltac:(prefixes)
  ltac:(holds) ltac:(holds) ltac:(holds)) 0.488355262808 0.705. Proof. both. Qed.
Definition policy := vector [0.3; 0.25; 0.25; 0.2].
Definition base := vector [0.15; 0.1; 0.45; 0.3].
Definition valid := verdicts [true; true; false; false].
Example rehearsal_guarantee_filtered : bounds (rehearsal (outcomes 4) policy base valid ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)) 0.5466810369716 0.55.
Proof. split; [rewrite exp_minus_kl_is by holds; numbers|numbers]. Qed.
Example rehearsal_guarantee_equality_1 : gives (proj1 (rehearsal_exact (outcomes 4) (vector [0.33; 0.22; 0.18; 0.27]) base valid ltac:(holds) ltac:(holds)
  ltac:(holds) ltac:(holds) ltac:(holds))) 0.55. Proof. both. Qed.
Example rehearsal_guarantee_equality_2 : gives (proj1 (rehearsal_exact (outcomes 4) policy base valid ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)
  ltac:(holds))) 0.5466810369716. Proof. both. Qed.
Lemma reached : forall t, (t < 2)%nat -> forall s, In s states -> 0 < visits states actions moves begin pef t s -> covers actions (new s) (pef s).
Proof. intros t _ s I _. each I holds. Qed.
Example rehearsal_guarantee_horizon : bounds (horizon_return states actions moves begin pef new 2 (vector [0.1; 0.4; 0.9]) ltac:(holds) (proj1 anchor)
  (proj1 (proj2 all)) (proj1 (proj2 (proj2 (proj1 all)))) reached ltac:(holds)) 0.0033407446886 0.259856398176. Proof. both. Qed.

(* One state and three actions; the reference a share t towards the policy that weighs every action by its reward. *)
Definition prize := vector [1; 0.3; 0].
Definition tried := vector [0.4; 0.35; 0.25].
Definition better := vector [80 / 101; 21 / 101; 0].
Lemma bent_near_1 : forall f f1 f2, In (f, f1, f2) (named 0.5) -> curved f f1 f2 /\ f 1 = 0.
Proof. intros f f1 f2 I. destruct (named_bent 0.5 f f1 f2 ltac:(lra) ltac:(lra) I) as [B Z]. split; [apply (bent_curved f f1 f2 B)|exact Z]. Qed.
Definition generic f f1 f2 (I : In (f, f1, f2) (named 0.5)) B := no_constant_helps states prize tried better f f1 f2 4 0.9 2 (101 / 115200)
  (proj1 (bent_near_1 f f1 f2 I)) (proj2 (bent_near_1 f f1 f2 I)) B ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds) ltac:(holds)
  ltac:(holds) ltac:(holds) ltac:(holds).
Lemma bend_forward : forall x, / 2 <= x <= 2 -> / x ^ 2 <= 4.
Proof. intros x H. rewrite <- (Rinv_inv 4). apply Rinv_le_contravar; nra. Qed.
Lemma bend_alpha : forall x, / 2 <= x <= 2 -> Rpower x (- (0.5) - 1) <= 4.
Proof. intros x H. unfold Rpower. interval with (i_bisect x). Qed.
Lemma bend_js : forall x, / 2 <= x <= 2 -> / (x * (x + 1)) <= 4.
Proof. intros x H. interval with (i_bisect x). Qed.
Example dph_theorem_1_generic_1 : bounds (generic _ _ _ ltac:(left; reflexivity) bend_forward) 0.1747277227723 0.3466964707982. Proof. both. Qed.
Example dph_theorem_1_generic_2 : bounds (generic _ _ _ ltac:(do 6 right; left; reflexivity) bend_alpha) 0.1747277227723 0.3466965306971. Proof. both. Qed.
Example dph_theorem_1_generic_3 : bounds (generic _ _ _ ltac:(do 2 right; left; reflexivity) bend_js) 0.1747277227723 0.3480759881409. Proof. both. Qed.
Example undiscounted : bounds (Rlt_le _ _ (stated_without_future states actions moves pays begin new old pef _ _ _ _ 3 5 all_now ltac:(holds))) 0.4715 0.5615.
Proof. both. Qed.
