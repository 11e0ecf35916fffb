(* The dial of every divergence: which validity the best policy has. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws KLControl.
Import ListNotations. Open Scope R_scope.
(* Whatever f, mu is the best validity if and only if f'(mu/A1) - f'((1-mu)/A0) = 1/beta. *)
Definition worth (f : R -> R) (base_rate beta m : R) : R :=
  m / beta - (base_rate * f (m / base_rate) + (1 - base_rate) * f ((1 - m) / (1 - base_rate))).
Theorem dial : forall f f1 f2 base_rate beta mu, curved f f1 f2 -> 0 < base_rate < 1 -> 0 < mu < 1 -> 0 < beta ->
  (f1 (mu / base_rate) - f1 ((1 - mu) / (1 - base_rate)) = 1 / beta <->
   forall m, 0 < m < 1 -> worth f base_rate beta m <= worth f base_rate beta mu).
Proof.
  intros f f1 f2 r b mu K Hr Hm Hb. assert (P : forall m, 0 < m < 1 -> 0 < m / r /\ 0 < (1 - m) / (1 - r)).
  { intros m H. split; apply Rdiv_lt_0_compat; lra. }
  assert (D : is_derive (worth f r b) mu (1 / b - (f1 (mu / r) - f1 ((1 - mu) / (1 - r))))).
  { destruct (P mu Hm) as [P1 P0], (K _ P1) as [D1 _], (K _ P0) as [D0 _]. unfold worth. auto_derive.
    - repeat split; eexists; [exact D1|exact D0].
    - change (1 + - mu) with (1 - mu). change (1 + - r) with (1 - r). change ((1 - mu) * / (1 - r)) with ((1 - mu) / (1 - r)).
      change (mu * / r) with (mu / r). assert (E1 := is_derive_unique _ _ _ D1). assert (E0 := is_derive_unique _ _ _ D0).
      change (Derive (fun x : R => f x)) with (Derive f). rewrite E1, E0. unfold Rdiv. field. lra. }
  split.
  - intros E m H. destruct (P mu Hm) as [P1 P0], (P m H) as [Q1 Q0].
    destruct (tangent f f1 f2 _ _ K Q1 P1) as [T1 _]. destruct (tangent f f1 f2 _ _ K Q0 P0) as [T0 _].
    apply (Rmult_le_compat_l r) in T1; [|lra]. apply (Rmult_le_compat_l (1 - r)) in T0; [|lra].
    assert (G : r * (f1 (mu / r) * (m / r - mu / r)) + (1 - r) * (f1 ((1 - mu) / (1 - r)) * ((1 - m) / (1 - r) - (1 - mu) / (1 - r)))
      = (m - mu) * (1 / b)) by (rewrite <- E; field; lra).
    unfold worth. replace (m / b) with (mu / b + (m - mu) * (1 / b)) by (unfold Rdiv; ring). lra.
  - intro M. apply is_derive_Reals in D. assert (Z := deriv_maximum _ 0 1 mu (exist _ _ D) ltac:(lra) ltac:(lra)). simpl in Z.
    specialize (Z ltac:(intros; apply M; lra)). lra.
Qed.
