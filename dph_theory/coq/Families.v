(* Best members of restricted families of policies, as beta falls. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Pinsker KLControl Frontier Divergences Limits Trees Processing Coverage.
Import ListNotations. Open Scope R_scope.

(* Of a family of laws, a nearest member to the tilted model. *)
Definition nearest {Y : Type} (ys : list Y) (family : list (Y -> R)) (base : Y -> R) (valid : Y -> bool) (beta : R)
  (q : Y -> R) : Prop :=
  In q family /\ forall r, In r family -> kl ys q (tilted ys base valid beta) <= kl ys r (tilted ys base valid beta).
Definition laws {Y : Type} (ys : list Y) (family : list (Y -> R)) : Prop := forall r, In r family -> law ys r.
Lemma nearest_means {Y} : forall (ys : list Y) family a v b q r, laws ys family -> law ys a -> positive ys a -> 0 < b ->
  nearest ys family a v b q -> In r family -> kl ys q a - mass ys q v / b <= kl ys r a - mass ys r v / b.
Proof.
  intros ys F a v b q r W L P B [I N] J. specialize (N r J). rewrite !kl_to_tilted in N by auto. lra.
Qed.
(* For the most valid member, or any other. *)
Theorem validity_lost {Y} : forall (ys : list Y) family base valid beta q best, laws ys family -> law ys base ->
  positive ys base -> 0 < beta -> nearest ys family base valid beta q -> In best family ->
  mass ys best valid - mass ys q valid <= beta * (kl ys best base - kl ys q base).
Proof.
  intros ys F a v b q r W L P B N J. assert (H := nearest_means ys F a v b q r W L P B N J).
  apply (Rmult_le_compat_l b) in H; [|lra].
  replace (b * (kl ys q a - mass ys q v / b)) with (b * kl ys q a - mass ys q v) in H by (field; lra).
  replace (b * (kl ys r a - mass ys r v / b)) with (b * kl ys r a - mass ys r v) in H by (field; lra). lra.
Qed.
Lemma chosen_members : forall V K V' K' beta beta', 0 < beta' < beta ->
  K - V / beta <= K' - V' / beta -> K' - V' / beta' <= K - V / beta' -> V <= V' /\ K <= K'.
Proof.
  intros V K V' K' b c H A B. assert (P : / b < / c) by (apply Rinv_lt_contravar; nra).
  assert (Q : 0 < / b) by (apply Rinv_0_lt_compat; lra). unfold Rdiv in *. assert (V <= V') by nra. split; nra.
Qed.
Theorem smaller_beta_chooses {Y} : forall (ys : list Y) family base valid beta beta' q q', laws ys family ->
  law ys base -> positive ys base -> 0 < beta' < beta -> nearest ys family base valid beta q ->
  nearest ys family base valid beta' q' -> mass ys q valid <= mass ys q' valid /\ kl ys q base <= kl ys q' base.
Proof.
  intros ys F a v b c q r W L P B N M. apply (chosen_members _ _ _ _ b c B).
  - apply (nearest_means ys F a v b q r W L P ltac:(lra) N), M.
  - apply (nearest_means ys F a v c r q W L P ltac:(lra) M), N.
Qed.
Definition most_valid {Y : Type} (ys : list Y) (family : list (Y -> R)) (base : Y -> R) (valid : Y -> bool) (best : Y -> R) : Prop :=
  In best family /\ forall r, In r family -> mass ys r valid <= mass ys best valid /\
    (mass ys r valid = mass ys best valid -> kl ys best base <= kl ys r base).
Definition critical {Y : Type} (ys : list Y) (base : Y -> R) (valid : Y -> bool) (best r : Y -> R) : R :=
  (mass ys best valid - mass ys r valid) / (kl ys best base - kl ys r base).
Theorem validity_first {Y} : forall (ys : list Y) family base valid beta q best, laws ys family -> law ys base ->
  positive ys base -> 0 < beta -> most_valid ys family base valid best ->
  (forall r, In r family -> kl ys r base < kl ys best base -> beta < critical ys base valid best r) ->
  nearest ys family base valid beta q -> mass ys q valid = mass ys best valid /\ kl ys q base = kl ys best base.
Proof.
  intros ys F a v b q s W L P B [I S] C N. assert (H := validity_lost ys F a v b q s W L P B N I).
  destruct (S q (proj1 N)) as [V K]. assert (D : kl ys s a <= kl ys q a).
  { destruct (Rlt_or_le (kl ys q a) (kl ys s a)) as [X|X]; [exfalso|exact X]. specialize (C q (proj1 N) X). unfold critical in C.
    apply (Rmult_lt_compat_r (kl ys s a - kl ys q a)) in C; [|lra]. unfold Rdiv in C. rewrite Rmult_assoc, Rinv_l in C; lra. }
  assert (E : mass ys q v = mass ys s v) by nra. split; [exact E|]. specialize (K E). nra.
Qed.
Lemma dirac_mass : forall ys y v, NoDup ys -> In y ys -> mass ys (dirac y) v = one (v y).
Proof.
  intros ys y v N I. unfold mass. rewrite (sum_ext ys _ (fun z => dirac y z * one (v z))) by (intros; ring).
  apply (sum_dirac ys y (fun z => one (v z))); auto.
Qed.
Lemma dirac_kl : forall ys y a, NoDup ys -> In y ys -> kl ys (dirac y) a = - ln (a y).
Proof.
  intros ys y a N I. unfold kl. rewrite (sum_dirac ys y (fun z => ln (dirac y z) - ln (a z))) by auto.
  unfold dirac. rewrite Nat.eqb_refl, ln_1. ring.
Qed.
Theorem collapse : forall ys others base valid beta q top, NoDup ys -> laws ys others -> law ys base -> positive ys base ->
  (forall r, In r others -> mass ys r valid < 1) -> In top ys -> valid top = true ->
  (forall y, In y ys -> valid y = true -> y <> top -> base y < base top) -> 0 < beta ->
  let family := map dirac ys ++ others in
  (forall r, In r family -> kl ys r base < - ln (base top) -> 0 < critical ys base valid (dirac top) r) /\
  ((forall r, In r family -> kl ys r base < - ln (base top) -> beta < critical ys base valid (dirac top) r) ->
    nearest ys family base valid beta q -> forall y, In y ys -> q y = dirac top y).
Proof.
  intros ys O a v b q t N W L P U I V T B F. assert (K := dirac_kl ys t a N I). assert (M := dirac_mass ys t v N I).
  rewrite V in M. simpl in M. assert (G : laws ys F).
  { intros r J. apply in_app_or in J. destruct J as [J|J]; [|apply W, J]. apply in_map_iff in J. destruct J as (y & <- & J).
    apply dirac_law; auto. }
  assert (full : forall r, In r F -> mass ys r v = 1 -> kl ys r a <= - ln (a t) -> r = dirac t).
  { intros r J E D. apply in_app_or in J. destruct J as [J|J]; [|specialize (U r J); lra].
    apply in_map_iff in J. destruct J as (y & <- & J). rewrite dirac_mass in E by auto. rewrite dirac_kl in D by auto.
    destruct (Nat.eq_dec y t) as [->|X]; [reflexivity|exfalso]. destruct (v y) eqn:Q; simpl in E; [|lra].
    assert (Z := ln_increasing _ _ (P y J) (T y J Q X)). lra. }
  assert (S : In (dirac t) F) by (apply in_or_app; left; apply in_map, I). split.
  - intros r J D. unfold critical. rewrite K, M. apply Rdiv_lt_0_compat; [|lra].
    assert (Q := mass_bounds ys r v (G r J)). destruct (Req_dec (mass ys r v) 1) as [E|]; [|lra].
    rewrite (full r J E ltac:(lra)), K in D. lra.
  - intros C H y J. destruct (validity_first ys F a v b q (dirac t) G L P B) as [E D]; auto.
    + split; [exact S|]. intros r R. rewrite M. split; [apply mass_bounds, G, R|]. intro E. rewrite K.
      destruct (Rle_or_lt (kl ys r a) (- ln (a t))) as [X|X]; [rewrite (full r R E X), K; lra|lra].
    + rewrite K. exact C.
    + rewrite (full q (proj1 H)); [reflexivity|lra|lra].
Qed.
(* The member of least KL(p_* || pi), that is of largest exp of minus it, though Diracs are members. *)
Theorem projection_keeps : forall (ys : list nat) family base valid best q y, NoDup ys -> laws ys family -> law ys base ->
  positive ys base -> 0 < mass ys base valid -> let target := filtered ys base valid in
  In best family -> (forall r, In r family -> exp_minus_kl ys target r <= exp_minus_kl ys target best) ->
  In q family -> positive ys q -> In y ys ->
  bernoulli_kl (target y) (best y) <= kl ys target q /\ covers ys best target /\ kl ys target best <= kl ys target q.
Proof.
  intros ys F a v b q y N W L P M p I H J Q Y. assert (T := filtered_law ys a v L M). fold p in T.
  assert (E := H q J). rewrite (exp_minus_kl_is ys p q) in E by (intros z Z _; apply Q, Z).
  assert (X := exp_pos (- kl ys p q)). assert (C : covers ys b p).
  { apply lacks_nothing. unfold exp_minus_kl in E. destruct (lacks ys b p); [reflexivity|lra]. }
  rewrite exp_minus_kl_is in E by exact C. assert (D : kl ys p b <= kl ys p q).
  { destruct (Rle_or_lt (kl ys p b) (kl ys p q)) as [|Z]; [auto|]. assert (- kl ys p b < - kl ys p q) as Z' by lra.
    apply exp_increasing in Z'. lra. }
  split; [|split; auto]. apply Rle_trans with (2 := D).
  assert (mean_is : forall r, mean ys r (dirac y) = r y).
  { intro r. unfold mean. rewrite (sum_ext ys _ (fun z => dirac y z * r z)) by (intros; ring). apply (sum_dirac ys y r); auto. }
  rewrite <- (mean_is p), <- (mean_is b). apply returns; auto. intros z _. unfold dirac. destruct (Nat.eqb y z); lra.
Qed.
(* From the base to a law q, the member t of the segment wins at its price 1/beta. *)
Definition member {Y : Type} (base q : Y -> R) (t : R) (y : Y) : R := (1 - t) * base y + t * q y.
Definition price {Y : Type} (ys : list Y) (base q : Y -> R) (valid : Y -> bool) (t : R) : R :=
  sum ys (fun y => (q y - base y) * (ln (member base q t y) - ln (base y))) / (mass ys q valid - mass ys base valid).
Theorem segment {Y} : forall (ys : list Y) base q valid t s, law ys base -> positive ys base -> law ys q ->
  mass ys base valid < mass ys q valid -> 0 <= t < 1 -> 0 <= s <= 1 ->
  kl ys (member base q t) base - price ys base q valid t * mass ys (member base q t) valid <=
  kl ys (member base q s) base - price ys base q valid t * mass ys (member base q s) valid.
Proof.
  intros ys a q v t s La P Lq V T S. set (c := price ys a q v t).
  assert (law_of : forall r, 0 <= r <= 1 -> law ys (member a q r)).
  { intros r H. split.
    - intros y I. assert (A := proj1 La y I). assert (B := proj1 Lq y I). unfold member. nra.
    - unfold member. rewrite sum_plus, !sum_scale, (proj2 La), (proj2 Lq). ring. }
  assert (C : positive ys (member a q t)).
  { intros y I. assert (A := P y I). assert (B := proj1 Lq y I). unfold member. nra. }
  assert (M : forall r, mass ys (member a q r) v = (1 - r) * mass ys a v + r * mass ys q v).
  { intro r. unfold mass. rewrite <- !sum_scale, <- sum_plus. apply sum_ext. intros; unfold member; ring. }
  destruct (kl_nonneg ys (member a q s) (member a q t) (law_of s S) (law_of t ltac:(lra)) (fun y I _ => C y I)) as [K _].
  assert (E : kl ys (member a q s) (member a q t) = kl ys (member a q s) a - kl ys (member a q t) a
    - (s - t) * (c * (mass ys q v - mass ys a v))).
  { unfold c, price. replace (_ / (mass ys q v - mass ys a v) * (mass ys q v - mass ys a v)) with
      (sum ys (fun y => (q y - a y) * (ln (member a q t y) - ln (a y)))) by (field; lra).
    unfold kl. rewrite <- sum_scale, <- !sum_minus. apply sum_ext. intros y _. unfold member. ring. }
  rewrite !M. rewrite E in K. lra.
Qed.
