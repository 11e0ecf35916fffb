(* The largest and the least of a list of numbers, and how much differences that add up to nothing can weigh. *)
Require Import Reals List Lra. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws.
Import ListNotations. Open Scope R_scope.

Definition larger (x y : R) : R := (x + y + Rabs (x - y)) / 2.
Fixpoint highest {X : Type} (xs : list X) (f : X -> R) : R :=
  match xs with [] => 0 | [x] => f x | x :: rest => larger (f x) (highest rest f) end.
Definition lowest {X : Type} (xs : list X) (f : X -> R) : R := - highest xs (fun x => - f x).
Lemma larger_is : forall x y, x <= larger x y /\ y <= larger x y /\ (larger x y = x \/ larger x y = y).
Proof. intros x y. unfold larger. destruct (Rcase_abs (x - y)); [rewrite Rabs_left|rewrite Rabs_right]; lra. Qed.
Lemma le_highest {X} : forall (xs : list X) f x, In x xs -> f x <= highest xs f.
Proof.
  induction xs as [|y [|z r] IH]; intros f x I; [contradiction|destruct I as [->|[]]; simpl; lra|].
  change (highest (y :: z :: r) f) with (larger (f y) (highest (z :: r) f)). destruct (larger_is (f y) (highest (z :: r) f)) as (A & B & _).
  destruct I as [->|I]; [exact A|apply Rle_trans with (2 := B), IH, I].
Qed.
Lemma highest_in {X} : forall (xs : list X) f, xs <> [] -> exists x, In x xs /\ highest xs f = f x.
Proof.
  induction xs as [|y [|z r] IH]; intros f N; [contradiction|exists y; simpl; auto|].
  change (highest (y :: z :: r) f) with (larger (f y) (highest (z :: r) f)). destruct (IH f ltac:(discriminate)) as (x & I & E).
  destruct (larger_is (f y) (highest (z :: r) f)) as (_ & _ & [F|F]); rewrite F; [exists y; simpl; auto|exists x; simpl in *; auto].
Qed.
Lemma highest_le {X} : forall (xs : list X) f c, xs <> [] -> (forall x, In x xs -> f x <= c) -> highest xs f <= c.
Proof. intros xs f c N H. destruct (highest_in xs f N) as (x & I & ->). apply H, I. Qed.
Lemma lowest_le {X} : forall (xs : list X) f x, In x xs -> lowest xs f <= f x.
Proof. intros xs f x I. unfold lowest. assert (H := le_highest xs (fun x => - f x) x I). lra. Qed.
Lemma highest_scale {X} : forall (xs : list X) f w, 0 <= w -> highest xs (fun x => w * f x) = w * highest xs f.
Proof.
  intros xs f w W. destruct xs as [|x r]; [simpl; ring|]. set (xs := x :: r). apply Rle_antisym.
  - apply highest_le; [discriminate|]. intros y I. apply Rmult_le_compat_l; [exact W|apply le_highest, I].
  - destruct (highest_in xs f ltac:(discriminate)) as (y & I & ->). apply (le_highest xs (fun x => w * f x) y I).
Qed.
Definition span {X : Type} (xs : list X) (f : X -> R) : R := highest xs f - lowest xs f.
(* Against differences that add up to nothing, a function counts by its span. *)
Lemma sum_by_span {X} : forall (xs : list X) e f, xs <> [] -> sum xs e = 0 ->
  sum xs (fun x => e x * f x) <= sum xs (fun x => Rabs (e x)) / 2 * span xs f.
Proof.
  intros xs e f N Z. set (m := (highest xs f + lowest xs f) / 2).
  rewrite (sum_ext xs _ (fun x => e x * (f x - m) + m * e x)) by (intros; ring). rewrite sum_plus, sum_scale, Z, Rmult_0_r, Rplus_0_r.
  replace (sum xs (fun x => Rabs (e x)) / 2 * span xs f) with (sum xs (fun x => span xs f / 2 * Rabs (e x))) by (rewrite sum_scale; field).
  apply sum_le. intros x I. assert (H := le_highest xs f x I). assert (L := lowest_le xs f x I).
  apply Rle_trans with (Rabs (e x) * Rabs (f x - m)); [rewrite <- Rabs_mult; apply Rle_abs|]. rewrite Rmult_comm.
  apply Rmult_le_compat_r; [apply Rabs_pos|]. apply Rabs_le. unfold span, m. lra.
Qed.
Lemma sum_abs {X} : forall (xs : list X) f, Rabs (sum xs f) <= sum xs (fun x => Rabs (f x)).
Proof.
  induction xs as [|x xs IH]; intro f; simpl; [rewrite Rabs_R0; lra|]. apply Rle_trans with (1 := Rabs_triang _ _). specialize (IH f). lra.
Qed.
