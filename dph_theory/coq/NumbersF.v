(* The theorems on claims in circulation (family F) at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws KLControl Updates Products Numbers Samples.
Import ListNotations. Open Scope R_scope.
Definition first_logits (x : nat) : R := ln (vector [0.5; 0.3; 0.2] x).
Definition second (rows : list (list R)) (x y : nat) : R := nth y (nth x rows []) 0.
Definition second_pi := second [[0.5; 0.3; 0.2]; [0.2; 0.7; 0.1]; [0.3; 0.3; 0.4]].
Definition second_ref := second [[0.2; 0.4; 0.4]; [0.6; 0.3; 0.1]; [0.25; 0.25; 0.5]].
Ltac future := let E := fresh in lazymatch goal with |- gives ?p _ => pose proof p as E; cbv beta in E; split; cbv beta; [rewrite E|];
  rewrite reverse_kl_slope by first [discriminate|holds]; numbers end.
Example F1_future_1 : gives (kl_to_come three three first_logits (unit 0) (vector [0.3; 0.3; 0.4]) second_pi second_ref h h ltac:(intros x I; each I ltac:(repeat split; first [each_outcome|cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv IZR]; lra]))) 0.1973024929842. Proof. future. Qed.
Example F1_future_2 : gives (kl_to_come three three first_logits (unit 1) (vector [0.3; 0.3; 0.4]) second_pi second_ref h h ltac:(intros x I; each I ltac:(repeat split; first [each_outcome|cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv IZR]; lra]))) 0.0071862295951. Proof. future. Qed.
Example F1_future_3 : gives (kl_to_come three three first_logits (unit 2) (vector [0.3; 0.3; 0.4]) second_pi second_ref h h ltac:(intros x I; each I ltac:(repeat split; first [each_outcome|cbv -[Rplus Rminus Rmult Ropp Rinv Rdiv IZR]; lra]))) (-0.2044887225793). Proof. future. Qed.
