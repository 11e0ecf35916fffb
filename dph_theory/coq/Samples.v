(* The examples that the files Numbers* share: laws of four outcomes and strings of three tokens, and their tactics. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws KLControl Frontier Divergences Updates Trees Generators Rehearsal Selection Binomials Numbers.
Import ListNotations. Open Scope R_scope.
Notation four := (outcomes 4).
Notation real := ltac:(lra) (only parsing).
(* A named generator, found in their list with its derivatives. *)
Ltac pick := unfold named, asked; simpl; repeat first [left; reflexivity|right].
Definition pi := vector [0.4; 0.3; 0.2; 0.1].
Definition ref := vector [0.1; 0.35; 0.25; 0.3].
Definition base := vector [0.15; 0.1; 0.45; 0.3].
Definition rehearsed := vector [0.3; 0.25; 0.25; 0.2].
Definition right_two := verdicts [true; true; false; false].
Lemma known_laws : law four pi /\ law four ref /\ law four base /\ law four rehearsed.
Proof. repeat split; first [each_outcome|cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv IZR]; lra]. Qed.
Lemma known_positive : positive four pi /\ positive four ref /\ positive four base /\ positive four rehearsed.
Proof. repeat split; each_outcome. Qed.
Ltac given := first [exact (proj1 known_laws)|exact (proj1 (proj2 known_laws))|exact (proj1 (proj2 (proj2 known_laws)))|
  exact (proj2 (proj2 (proj2 known_laws)))|exact (proj1 known_positive)|exact (proj1 (proj2 known_positive))|
  exact (proj1 (proj2 (proj2 known_positive)))|exact (proj2 (proj2 (proj2 known_positive)))|holds].
Notation h := ltac:(given) (only parsing).
Notation n := ltac:(pick) (only parsing).
Ltac maxed := split; cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv ln exp sqrt Rabs IZR Rle Rlt Rmax Rmin PI];
  repeat first [rewrite Rmax_left by lra|rewrite Rmax_right by lra]; interval with (i_prec 80).
(* One token of a string: the tables of the first, the second and the third, and after the end e nothing but it. *)
Definition table (e : nat) (first : list R) (second : list (list R)) (third : list (list (list R))) (g : list nat) (t : nat) : R :=
  let ended := if Nat.eqb t e then 1 else 0 in
  match g with
  | [] => nth t first 0
  | [a] => if Nat.ltb a e then nth t (nth a second []) 0 else ended
  | b :: a :: _ => if andb (Nat.ltb a e) (Nat.ltb b e) then nth t (nth b (nth a third []) []) 0 else ended
  end.
Definition among (good : list (list nat)) (g : list nat) : bool := existsb (fun x => if list_eq_dec Nat.eq_dec x g then true else false) good.
(* What holds of all prefixes of up to three tokens, or of all strings of three. *)
Ltac prefixes t := let m := fresh in let I := fresh in let g := fresh in let J := fresh in intros m I g J;
  simpl in I; repeat (destruct I as [<-|I]; [simpl in J; repeat (destruct J as [<-|J]; [t|]); destruct J|]); destruct I.
Ltac strings_each t := let g := fresh in let J := fresh in intros g J; simpl in J; repeat (destruct J as [<-|J]; [t|]); destruct J.
Definition logits (y : nat) : R := ln (pi y).
Definition rehearsed_logits (y : nat) : R := ln (rehearsed y).
Lemma soft : forall p y, law four p -> positive four p -> In y four -> softmax four (fun z => ln (p z)) y = p y.
Proof.
  intros p y [_ S] P I. unfold softmax. rewrite (sum_ext four (fun z => exp (ln (p z))) p) by (intros z J; apply exp_ln, P, J).
  rewrite S, exp_ln by (apply P, I). field.
Qed.
Lemma sum_four : forall f : nat -> R, sum four f = f 0%nat + (f 1%nat + (f 2%nat + (f 3%nat + 0))).
Proof. reflexivity. Qed.
Ltac softly := unfold logits, rehearsed_logits; rewrite !sum_four; rewrite ?(soft _ 0%nat), ?(soft _ 1%nat), ?(soft _ 2%nat), ?(soft _ 3%nat) by given.
(* Both sides of an equality of slopes: by the theorem, and by the slope's own form. *)
Ltac slopes slope := lazymatch goal with |- gives ?p _ => let E := fresh in pose proof p as E; cbv beta in E; split; cbv beta;
  [rewrite E|]; rewrite slope by first [discriminate|lra|given]; unfold score; softly; numbers end.
Ltac nothing := lazymatch goal with |- gives ?p _ => let E := fresh in pose proof p as E; cbv beta in E; split; cbv beta;
  [rewrite E|]; numbers end.
Ltac powers := cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv ln exp sqrt Rabs IZR Rle Rlt Rmax Rmin PI Rlt_dec];
  repeat match goal with |- context [Rlt_dec 0 ?z] => let P := fresh in let N := fresh in
    destruct (Rlt_dec 0 z) as [P|N]; [try (exfalso; revert P; apply Rle_not_lt; interval)|try (exfalso; apply N; interval)] end.
Definition unit (k : nat) (y : nat) : R := if Nat.eqb y k then 1 else 0.
Lemma js_root : let u := / (2 * exp 1 - 1) in ln u - ln ((u + 1) / 2) + 1 = 0.
Proof.
  intro u. assert (E : 2 < exp 1) by interval. replace ((u + 1) / 2) with (exp 1 * u) by (unfold u; field; lra).
  rewrite ln_mult, ln_exp by first [apply exp_pos|unfold u; apply Rinv_0_lt_compat; lra]. ring.
Qed.
Lemma half_root : (1 - Rpower (4 / 9) (Ropp 0.5)) / 0.5 + 1 = 0.
Proof.
  assert (E : Rpower (4 / 9) (Ropp 0.5) = 3 / 2); [|rewrite E; lra]. unfold Rpower. replace (4 / 9) with (/ (3 / 2 * (3 / 2))) by field.
  rewrite ln_Rinv, ln_mult by lra. replace (Ropp 0.5 * - (ln (3 / 2) + ln (3 / 2))) with (ln (3 / 2)) by lra. apply exp_ln. lra.
Qed.
Definition asked_for (u : R) := mixture four base right_two (u * mass four base right_two).
Lemma in_proportion : forall u y, right_two y = true -> asked_for u y = u * mass four base right_two * filtered four base right_two y.
Proof. intros u y V. unfold asked_for, mixture, filtered at 2. rewrite V. simpl. unfold Rdiv. ring. Qed.
Lemma asked_law : forall u, 0 <= u * mass four base right_two <= 1 -> law four (asked_for u).
Proof. intros u H. apply mixture_law; [holds|holds|exact H]. Qed.
Ltac at_most_one := first [solve [holds]|split; [numbers|apply Req_le; field; apply Rgt_not_eq; numbers]].
Ltac maybe_zero := let Q := fresh in intro Q; first [numbers|exfalso; revert Q; apply Rle_not_lt; numbers].
Ltac if_valid t := let V := fresh in intro V; first [exfalso; revert V; vm_compute; discriminate|clear V; t].
Notation all_laws := ltac:(prefixes ltac:(intros _; holds)) (only parsing).
Notation three := (outcomes 3).
Notation strings_of_three := (strings three 3).
Definition strings_pi := table 2 [0.6; 0.3; 0.1] [[0.5; 0.4; 0.1]; [0.7; 0.2; 0.1]] [[[0.5; 0.3; 0.2]; [0.2; 0.6; 0.2]]; [[0.3; 0.3; 0.4]; [0.6; 0.2; 0.2]]].
Definition strings_ref := table 2 [0.3; 0.5; 0.2] [[0.2; 0.5; 0.3]; [0.6; 0.3; 0.1]] [[[0.4; 0.4; 0.2]; [0.3; 0.3; 0.4]]; [[0.2; 0.6; 0.2]; [0.5; 0.3; 0.2]]].
Definition correct := among [[0%nat; 0%nat; 0%nat]; [2%nat; 0%nat; 0%nat]; [1%nat; 1%nat; 0%nat]; [2%nat; 2%nat; 0%nat]; [2%nat; 0%nat; 1%nat]; [2%nat; 1%nat; 1%nat]; [2%nat; 2%nat; 1%nat]].
Definition runs_pi := table 1 [0.6; 0.4] [[0.5; 0.5]] [[[0.2; 0.8]]].
Definition runs_base := table 1 [0.3; 0.7] [[0.2; 0.8]] [[[0.6; 0.4]]].
Definition correct_runs := among [[0%nat; 0%nat; 0%nat]; [1%nat; 1%nat; 0%nat]].
Notation valid_runs := ltac:(strings_each ltac:(if_valid ltac:(split; numbers))) (only parsing).
Ltac binomials := cbn [sum seq]; rewrite ?choose_falling by lia; numbers.
