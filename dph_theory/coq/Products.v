(* Pairs: independent tokens, and a token with the one after it. *)
Require Import Reals List Lra. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws KLControl Divergences Generators Updates.
Import ListNotations. Open Scope R_scope.
Section Pairs.
Context {A B : Type}.
Definition pairs (xs : list A) (ys : list B) : list (A * B) := list_prod xs ys.
Definition after (p : A -> R) (q : A -> B -> R) (x : A * B) : R := p (fst x) * q (fst x) (snd x).
Definition joint (p : A -> R) (q : B -> R) : A * B -> R := after p (fun _ => q).
Definition middle {Y : Type} (p q : Y -> R) (y : Y) : R := (p y + q y) / 2.
Lemma sum_pairs : forall (xs : list A) (ys : list B) f, sum (pairs xs ys) f = sum xs (fun x => sum ys (fun y => f (x, y))).
Proof.
  intros xs ys f. unfold pairs. induction xs as [|x xs IH]; simpl; [reflexivity|]. rewrite sum_app, IH. f_equal.
  clear. induction ys as [|y ys IH]; simpl; [reflexivity|]. rewrite IH. reflexivity.
Qed.
Lemma after_law : forall (xs : list A) (ys : list B) p q, law xs p -> positive xs p -> (forall x, In x xs -> law ys (q x)) ->
  (forall x, In x xs -> positive ys (q x)) -> law (pairs xs ys) (after p q) /\ positive (pairs xs ys) (after p q).
Proof.
  intros xs ys p q [W S] P L Q. assert (K : positive (pairs xs ys) (after p q)).
  { intros [x y] I. apply in_prod_iff in I. unfold after. simpl. apply Rmult_lt_0_compat; [apply P|apply Q]; tauto. }
  split; [|exact K]. split; [intros x I; apply Rlt_le, K, I|]. rewrite sum_pairs, <- S. apply sum_ext. intros x I.
  unfold after. simpl. rewrite sum_scale, (proj2 (L x I)). ring.
Qed.
(* The chain rule, for pairs. *)
Lemma kl_pairs : forall (xs : list A) (ys : list B) p q r s, positive xs p -> positive xs r ->
  (forall x, In x xs -> law ys (q x) /\ positive ys (q x) /\ positive ys (s x)) ->
  kl (pairs xs ys) (after p q) (after r s) = kl xs p r + sum xs (fun x => p x * kl ys (q x) (s x)).
Proof.
  intros xs ys p q r s P R0 H. unfold kl at 1. rewrite sum_pairs. unfold kl at 1. rewrite <- sum_plus. apply sum_ext.
  intros x I. destruct (H x I) as ([_ S] & Q & T). assert (Px := P x I). assert (Rx := R0 x I). unfold after. simpl.
  rewrite (sum_ext ys _ (fun y => p x * (ln (p x) - ln (r x)) * q x y + p x * (q x y * (ln (q x y) - ln (s x y))))).
  - rewrite sum_plus, !sum_scale, S. unfold kl. ring.
  - intros y J. assert (Qy := Q y J). assert (Ty := T y J). rewrite !ln_mult by auto. ring.
Qed.
Lemma kl_joint : forall (xs : list A) (ys : list B) p q r s, law xs p -> positive xs p -> positive xs r ->
  law ys q -> positive ys q -> positive ys s -> kl (pairs xs ys) (joint p q) (joint r s) = kl xs p r + kl ys q s.
Proof.
  intros xs ys p q r s [_ S] P R0 L Q T. unfold joint. rewrite kl_pairs by auto. f_equal.
  rewrite (sum_ext xs _ (fun x => kl ys q s * p x)) by (intros; ring). rewrite sum_scale, S. ring.
Qed.
Theorem deficit : forall (xs : list A) (ys : list B) p r q s al, law xs p -> positive xs p -> law xs r -> positive xs r ->
  law ys q -> positive ys q -> law ys s -> positive ys s -> al <> 0 -> al <> 1 ->
  divergence (pairs xs ys) jensen_shannon (joint p q) (joint r s) =
    divergence xs jensen_shannon p r + divergence ys jensen_shannon q s
    - 2 * kl (pairs xs ys) (middle (joint p q) (joint r s)) (joint (middle p r) (middle q s)) /\
  divergence (pairs xs ys) (alpha_form al) (joint p q) (joint r s) =
    divergence xs (alpha_form al) p r + divergence ys (alpha_form al) q s
    - al * (1 - al) * divergence xs (alpha_form al) p r * divergence ys (alpha_form al) q s.
Proof.
  intros xs ys p r q s al Lp Pp Lr Pr Lq Pq Ls Ps A0 A1.
  destruct (after_law xs ys p (fun _ => q) Lp Pp (fun _ _ => Lq) (fun _ _ => Pq)) as [L1 P1].
  destruct (after_law xs ys r (fun _ => s) Lr Pr (fun _ _ => Ls) (fun _ _ => Ps)) as [L2 P2]. fold (joint p q) in *. fold (joint r s) in *.
  destruct (textbook _ _ _ al L1 L2 P1 P2 A0 A1) as (_ & _ & J & _ & _ & _ & _ & E).
  destruct (textbook _ _ _ al Lp Lr Pp Pr A0 A1) as (_ & _ & J1 & _ & _ & _ & _ & E1).
  destruct (textbook _ _ _ al Lq Ls Pq Ps A0 A1) as (_ & _ & J2 & _ & _ & _ & _ & E2). split.
  - rewrite J, J1, J2. change (fun y => (joint p q y + joint r s y) / 2) with (middle (joint p q) (joint r s)).
    change (fun y => (p y + r y) / 2) with (middle p r). change (fun y => (q y + s y) / 2) with (middle q s).
    assert (M : forall Y (zs : list Y) a b, positive zs a -> positive zs b -> positive zs (middle a b))
      by (intros Y zs a b U V z I; specialize (U z I); specialize (V z I); unfold middle; lra).
    assert (K1 := kl_joint xs ys p q (middle p r) (middle q s) Lp Pp (M _ _ _ _ Pp Pr) Lq Pq (M _ _ _ _ Pq Ps)).
    assert (K2 := kl_joint xs ys r s (middle p r) (middle q s) Lr Pr (M _ _ _ _ Pp Pr) Ls Ps (M _ _ _ _ Pq Ps)).
    assert (S : kl (pairs xs ys) (joint p q) (middle (joint p q) (joint r s)) + kl (pairs xs ys) (joint r s) (middle (joint p q) (joint r s))
      = kl (pairs xs ys) (joint p q) (joint (middle p r) (middle q s)) + kl (pairs xs ys) (joint r s) (joint (middle p r) (middle q s))
        - 2 * kl (pairs xs ys) (middle (joint p q) (joint r s)) (joint (middle p r) (middle q s))); [|lra].
    unfold kl. rewrite <- sum_scale, <- !sum_plus, <- sum_minus. apply sum_ext. intros z _.
    set (l := ln (middle _ _ z)). set (k := ln (joint (middle p r) (middle q s) z)). unfold middle. field.
  - rewrite E, E1, E2. set (S1 := sum xs _). set (S2 := sum ys _).
    assert (S : sum (pairs xs ys) (fun y => Rpower (joint p q y) (1 - al) * Rpower (joint r s y) al) = S1 * S2); [|rewrite S; field; lra].
    rewrite sum_pairs. unfold S1. rewrite Rmult_comm, <- sum_scale. apply sum_ext. intros x I. unfold S2.
    rewrite Rmult_comm, <- sum_scale. apply sum_ext. intros y H. unfold joint, after. simpl.
    rewrite <- !Rpower_mult_distr by auto. ring.
Qed.
Theorem independent_tokens : forall (xs : list A) (ys : list B) p r q s al, law xs p -> positive xs p -> law xs r ->
  positive xs r -> law ys q -> positive ys q -> law ys s -> positive ys s -> 0 < al < 1 ->
  divergence (pairs xs ys) jensen_shannon (joint p q) (joint r s) <=
    divergence xs jensen_shannon p r + divergence ys jensen_shannon q s /\
  divergence (pairs xs ys) (alpha_form al) (joint p q) (joint r s) <=
    divergence xs (alpha_form al) p r + divergence ys (alpha_form al) q s.
Proof.
  intros xs ys p r q s al Lp Pp Lr Pr Lq Pq Ls Ps Ha.
  destruct (deficit xs ys p r q s al Lp Pp Lr Pr Lq Pq Ls Ps ltac:(lra) ltac:(lra)) as [-> ->]. split.
  - assert (M : forall Y (zs : list Y) a b, law zs a -> positive zs a -> law zs b -> positive zs b ->
      law zs (middle a b) /\ positive zs (middle a b)).
    { intros Y zs a b [Wa Sa] U [Wb Sb] V. assert (K : positive zs (middle a b))
        by (intros z I; specialize (U z I); specialize (V z I); unfold middle; lra).
      split; [|exact K]. split; [intros z I; apply Rlt_le, K, I|]. unfold middle, Rdiv.
      rewrite (sum_ext zs _ (fun z => / 2 * (a z + b z))), sum_scale, sum_plus, Sa, Sb by (intros; ring). field. }
    destruct (M _ xs p r Lp Pp Lr Pr) as [L1 P1], (M _ ys q s Lq Pq Ls Ps) as [L2 P2].
    destruct (after_law xs ys (middle p r) (fun _ => middle q s) L1 P1 (fun _ _ => L2) (fun _ _ => P2)) as [L3 P3].
    destruct (after_law xs ys p (fun _ => q) Lp Pp (fun _ _ => Lq) (fun _ _ => Pq)) as [L4 P4].
    destruct (after_law xs ys r (fun _ => s) Lr Pr (fun _ _ => Ls) (fun _ _ => Ps)) as [L5 P5].
    destruct (M _ (pairs xs ys) _ _ L4 P4 L5 P5) as [L6 P6].
    destruct (kl_nonneg (pairs xs ys) _ _ L6 L3 (fun z I _ => P3 z I)) as [N _]. unfold joint. lra.
  - assert (D : forall Y (zs : list Y) a b, law zs a -> positive zs a -> law zs b -> positive zs b -> zs <> [] ->
      0 <= divergence zs (alpha_form al) a b).
    { intros Y zs a b La Pa Lb Pb N. assert (T := named_touch al (alpha_form al) _ _ ltac:(lra) ltac:(lra)
        ltac:(unfold named; simpl; do 6 right; left; reflexivity)).
      destruct (nonnegative zs _ _ a b T La Lb Pa Pb) as [Q _]. destruct zs as [|z zs]; [contradiction|].
      assert (B0 := Q z (or_introl eq_refl)). assert (C := Rabs_pos (b z * (alpha_form al (a z / b z) - (1 - Rpower 1 (- al)) / al * (a z / b z - 1)))). lra. }
    assert (N : forall Y (zs : list Y) a, law zs a -> zs <> []) by (intros Y [|z zs] a [_ S]; [simpl in S; lra|discriminate]).
    assert (D1 := D _ xs p r Lp Pp Lr Pr (N _ _ _ Lp)). assert (D2 := D _ ys q s Lq Pq Ls Ps (N _ _ _ Lq)).
    assert (0 <= al * (1 - al)) by nra.
    assert (0 <= al * (1 - al) * divergence xs (alpha_form al) p r * divergence ys (alpha_form al) q s)
      by (repeat apply Rmult_le_pos; auto; lra). lra.
Qed.
(* In the first token's logits, the KL of the tokens to come enters as a reward, centred. *)
Theorem kl_to_come : forall (xs : list A) (ys : list B) th d r q s, xs <> [] -> positive xs r ->
  (forall x, In x xs -> law ys (q x) /\ positive ys (q x) /\ positive ys (s x)) ->
  Derive (fun t => kl (pairs xs ys) (after (moved xs th d t) q) (after r s)) 0 =
  Derive (fun t => kl xs (moved xs th d t) r) 0
    + sum xs (fun x => d x * (softmax xs th x * (kl ys (q x) (s x) - sum xs (fun z => softmax xs th z * kl ys (q z) (s z))))).
Proof.
  intros xs ys th d r q s N R0 H. set (K := fun x => kl ys (q x) (s x)).
  rewrite (Derive_ext _ (fun t => sum xs (fun x => moved xs th d t x * (ln (moved xs th d t x) - ln (r x)) + moved xs th d t x * K x))).
  2: { intro t. rewrite sum_plus. apply kl_pairs; auto. intros x _. apply (proj2 (softmax_law xs (fun y => th y + t * d y) N)). }
  rewrite reverse_kl_slope by auto. destruct (softmax_law xs th N) as [_ Q].
  rewrite (derive_sum_along xs th d (fun x m => m * (ln m - ln (r x)) + m * K x) (fun x => ln (softmax xs th x) - ln (r x) + 1 + K x) N).
  - set (p := softmax xs th) in *. set (E := sum xs (fun z => p z * K z)).
    rewrite (sum_ext xs _ (fun x => (p x * score xs th d x * (ln (p x) - ln (r x)) + p x * score xs th d x)
      + (p x * d x * K x - sum xs (fun z => p z * d z) * (p x * K x)))) by (intros; unfold score; fold p; ring).
    rewrite sum_plus, sum_plus, sum_minus, sum_scale. fold E.
    assert (MS := mean_score xs th d N). fold p in MS. rewrite MS.
    rewrite (sum_ext xs (fun x => d x * _) (fun x => p x * d x * K x - E * (p x * d x))) by (intros; unfold E, K; ring).
    rewrite sum_minus, sum_scale. ring.
  - intros x I. assert (S := Q x). auto_derive; [lra|]. field. lra.
Qed.
End Pairs.
