(* What a theorem says at the numbers that an entry keeps: the tie between Coq and Python.

   The files Numbers* prove, from a theorem's own proof with every hypothesis proved at the example, that both its
   sides are the numbers that the registry prints, up to half a unit of the thirteenth decimal. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws.
Import ListNotations. Open Scope R_scope.

Definition vector (xs : list R) (y : nat) : R := nth y xs 0.
Definition verdicts (bs : list bool) (y : nat) : bool := nth y bs false.
Definition outcomes (n : nat) : list nat := seq 0 n.
(* Two tokens: the law of the first, and that of the second after each first. *)
Definition tree (first : list R) (second : list (list R)) (h : list nat) (t : nat) : R :=
  match h with [] => nth t first 0 | s :: _ => nth t (nth s second []) 0 end.
(* A proof of l = r, or of l <= r, and the numbers that both sides are. *)
Definition gives {l r : R} (_ : l = r) (v : R) : Prop := Rabs (l - v) <= 5e-14 /\ Rabs (r - v) <= 5e-14.
Definition bounds {l r : R} (_ : l <= r) (v w : R) : Prop := Rabs (l - v) <= 5e-14 /\ Rabs (r - w) <= 5e-14.
(* A proof of a limit, as one of an equality. *)
Lemma the_limit : forall f x l, is_lim f x (Finite l) -> real (Lim f x) = l.
Proof. intros f x l H. rewrite (is_lim_unique _ _ _ H). reflexivity. Qed.

(* In Coq ln 0 is some number, which interval does not know: products with 0 are taken away where they stop it. *)
Ltac numbers := cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv ln exp sqrt Rabs IZR Rle Rlt Rmax Rmin PI];
  first [interval with (i_prec 80) | unfold Rdiv; rewrite ?Rmult_0_l; interval with (i_prec 80)].
(* Sums of decimals. *)
Ltac exact_sum := cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv IZR]; lra.
(* One outcome of a list after the other. *)
Ltac each I t := simpl in I; repeat (destruct I as [<-|I]; [t|]); try destruct I.
Ltac each_outcome := let y := fresh in let I := fresh in intros y I; each I numbers.
(* The hypotheses of theorems, at numbers. *)
Ltac holds := cbv beta; lazymatch goal with
  | |- _ /\ _ => split; holds
  | |- law _ _ => split; [each_outcome|exact_sum]
  | |- forall y, In y _ -> _ => let y := fresh in let I := fresh in intros y I; each I holds
  | |- positive _ _ => each_outcome
  | |- weights _ _ => each_outcome
  | |- covers _ _ _ => let y := fresh in let I := fresh in intros y I _; each I numbers
  | |- _ = _ => exact_sum
  | |- In _ _ => simpl; tauto
  | |- (_ <= _)%nat => lia
  | |- (_ < _)%nat => lia
  | |- _ <> _ => discriminate
  | |- ?x <= ?x => apply Rle_refl
  | |- _ => numbers end.
Ltac both := split; numbers.
