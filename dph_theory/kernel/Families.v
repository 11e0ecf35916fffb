(* Best members of restricted families of policies, as beta falls (A10). *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws KLControl.
Import ListNotations. Open Scope R_scope.
(* A10: of any family, the member chosen at a smaller beta is no less valid and no nearer to the base. *)
Theorem chosen_members : forall V K V' K' beta beta', 0 < beta' < beta ->
  K - V / beta <= K' - V' / beta -> K' - V' / beta' <= K - V / beta' -> V <= V' /\ K <= K'.
Proof.
  intros V K V' K' b c H A B. assert (P : / b < / c) by (apply Rinv_lt_contravar; nra).
  assert (Q : 0 < / b) by (apply Rinv_0_lt_compat; lra). unfold Rdiv in *. assert (V <= V') by nra. split; nra.
Qed.
