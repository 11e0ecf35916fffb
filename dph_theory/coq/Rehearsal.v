(* Rehearsing correct samples: what each loss on them selects, for whole answers and token by token. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Pinsker KLControl Frontier Divergences Generators Updates Trees.
Import ListNotations. Open Scope R_scope.
(* The losses, and u = m/A1 of the mass m that each asks for. *)
Definition asked (al base_rate : R) : list ((R -> R) * R) :=
  [(forward, 1 / base_rate); (k3, 1); (reverse, exp (-1)); (jensen_shannon, 1); (alpha_form al, 1)].
Theorem targets {Y} : forall (ys : list Y) al f u pi base valid, al <> 0 -> al <> 1 -> law ys pi ->
  (forall y, In y ys -> valid y = true -> 0 < pi y) -> law ys base -> positive ys base -> 0 < mass ys base valid ->
  In (f, u) (asked al (mass ys base valid)) ->
  - sum ys (fun y => filtered ys base valid y * f (pi y / base y)) <= - f u /\
  (sum ys (fun y => filtered ys base valid y * f (pi y / base y)) = f u <->
    forall y, In y ys -> valid y = true -> pi y = u * mass ys base valid * filtered ys base valid y).
Proof.
  intros ys al f u pi a v A0 A1 Lp P La A M I.
  assert (G : 0 < u /\ exists f1 f2, In (f, f1, f2) (named al) /\ (f1 u + 0 = 0 \/ (f1 u + 0 <= 0 /\ u = 1 / mass ys a v))).
  { unfold asked in I. assert (U : 0 < 1 / mass ys a v) by (apply Rdiv_lt_0_compat; lra).
    repeat destruct I as [I|I]; [..|destruct I]; injection I as <- <-; (split; [first [exact U|apply exp_pos|lra]|]).
    - do 2 eexists. split; [unfold named; simpl; left; reflexivity|]. right. split; [|reflexivity]. simpl.
      assert (Q := Rinv_0_lt_compat _ U). lra.
    - do 2 eexists. split; [unfold named; simpl; do 7 right; left; reflexivity|]. left. simpl. field.
    - do 2 eexists. split; [unfold named; simpl; do 1 right; left; reflexivity|]. left. simpl. rewrite ln_exp. ring.
    - do 2 eexists. split; [unfold named; simpl; do 2 right; left; reflexivity|]. left. simpl.
      replace ((1 + 1) / 2) with 1 by field. rewrite ln_1. ring.
    - do 2 eexists. split; [unfold named; simpl; do 6 right; left; reflexivity|]. left. simpl.
      unfold Rpower. rewrite ln_1, Rmult_0_r, exp_0. field. exact A0. }
  destruct G as (U & f1 & f2 & J & O). destruct (named_bent al f f1 f2 A0 A1 J) as [B _].
  destruct (bent_curved _ _ _ B) as [K S]. destruct (minimiser ys f f1 f2 pi a v 0 u K Lp P La A M U O) as (X & E & N).
  assert (T : sum ys (fun y => filtered ys a v y * (f (pi y / a y) + 0 * (pi y / a y - 1))) =
    sum ys (fun y => filtered ys a v y * f (pi y / a y))) by (apply sum_ext; intros; ring).
  rewrite T in *. replace (f u + 0 * (u - 1)) with (f u) in * by ring. split; [exact X|].
  assert (R0 : forall y, In y ys -> v y = true -> u * mass ys a v * filtered ys a v y = u * a y).
  { intros y H V. unfold filtered. rewrite V. simpl. field. lra. }
  split.
  - intros H y Iy V. rewrite (R0 y Iy V), <- (N S H y Iy V). assert (Q := A y Iy). field. lra.
  - intro H. apply E. intros y Iy V. rewrite (H y Iy V), (R0 y Iy V). assert (Q := A y Iy). field. lra.
Qed.

(* The laws that no other beats have the mass u A1 on Y1, in the base's proportions. *)
Theorem selected {Y} : forall (ys : list Y) al f u pi base valid, al <> 0 -> al <> 1 -> law ys pi ->
  (forall y, In y ys -> valid y = true -> 0 < pi y) -> law ys base -> positive ys base -> 0 < mass ys base valid < 1 ->
  In (f, u) (asked al (mass ys base valid)) ->
  let loss := fun q => sum ys (fun y => filtered ys base valid y * f (q y / base y)) in let m := u * mass ys base valid in
  ((forall q, law ys q -> (forall y, In y ys -> valid y = true -> 0 < q y) -> loss pi <= loss q) <->
    forall y, In y ys -> valid y = true -> pi y = m * filtered ys base valid y) /\
  ((forall y, In y ys -> valid y = true -> pi y = m * filtered ys base valid y) -> mass ys pi valid = m).
Proof.
  intros ys al f u pi a v A0 A1 Lp P La A M I loss m. assert (T := fun q Lq Q => targets ys al f u q a v A0 A1 Lq Q La A (proj1 M) I).
  assert (F := filtered_law ys a v La (proj1 M)). assert (Hm : 0 < m <= 1).
  { unfold m, asked in *. assert (E1 : 0 < exp (-1) < 1) by (split; [apply exp_pos|rewrite <- exp_0; apply exp_increasing; lra]).
    repeat destruct I as [I|I]; [..|destruct I]; injection I as <- <-; try (split; nra).
    replace (1 / mass ys a v * mass ys a v) with 1 by (field; lra). lra. }
  set (best := mixture ys a v m). assert (Lb : law ys best) by (apply mixture_law; auto; lra).
  assert (B : forall y, In y ys -> v y = true -> best y = m * filtered ys a v y).
  { intros y J V. unfold best, mixture, filtered at 2. rewrite V. simpl. unfold Rdiv. ring. }
  assert (Pb : forall y, In y ys -> v y = true -> 0 < best y).
  { intros y J V. rewrite (B y J V). apply Rmult_lt_0_compat; [lra|apply filtered_positive; auto; lra]. }
  split; [split|].
  - intro H. destruct (T pi Lp P) as [L E]. apply E. destruct (T best Lb Pb) as [_ Eb].
    assert (X := H best Lb Pb). unfold loss in X. rewrite (proj2 Eb B) in X. lra.
  - intros H q Lq Q. destruct (T q Lq Q) as [L _]. destruct (T pi Lp P) as [_ E]. unfold loss. rewrite (proj2 E H). lra.
  - intro H. rewrite <- (Rmult_1_r m), <- (proj2 F), <- sum_scale. apply sum_ext. intros y J. destruct (v y) eqn:V; simpl.
    + rewrite (H y J V). ring.
    + unfold filtered. rewrite V. simpl. unfold Rdiv. ring.
Qed.

(* The decisions of an answer, a prefix and its next token each; their ratios. *)
Fixpoint decisions {A : Type} (h : list A) : list (list A * A) := match h with [] => [] | t :: s => (s, t) :: decisions s end.
Definition ratio {A : Type} (pi a : list A -> A -> R) (x : list A * A) : R := pi (fst x) (snd x) / a (fst x) (snd x).
Definition along {A : Type} (f : R -> R) (pi a : list A -> A -> R) (h : list A) : R :=
  sum (decisions h) (fun x => f (ratio pi a x)).
(* The loss of each token, on correct samples. *)
Definition token_loss {A : Type} (ts : list A) (n : nat) (f : R -> R) (pi a : list A -> A -> R) (valid : list A -> bool) : R :=
  sum (strings ts n) (fun y => filtered (strings ts n) (prob a) valid y * along f pi a y).
Section Samples.
Context {A : Type}.
Lemma decision_positive : forall (ts : list A) n pi, policy ts n pi -> forall m y x, (m <= n)%nat ->
  In y (strings ts m) -> 0 < prob pi y -> In x (decisions y) -> 0 < pi (fst x) (snd x).
Proof.
  intros ts n pi P. induction m as [|m IH]; intros y x L I H J; [destruct I as [<-|[]]; destruct J|].
  destruct (in_strings ts m y I) as (t & s & -> & It & Is). simpl in H, J.
  destruct (proj1 (prob_law ts n pi P m ltac:(lia)) s Is) as [Q|Q]; [|rewrite <- Q in H; lra].
  destruct J as [<-|J]; [|apply (IH s x); auto; lia]. simpl.
  apply Rmult_lt_reg_l with (prob pi s); lra.
Qed.
Lemma log_along : forall (ts : list A) n pi a, policy ts n pi -> policy ts n a -> forall m y, (m <= n)%nat ->
  In y (strings ts m) -> 0 < prob pi y -> 0 < prob a y -> along ln pi a y = ln (prob pi y / prob a y).
Proof.
  intros ts n pi a P Q. induction m as [|m IH]; intros y L I H K.
  { destruct I as [<-|[]]. unfold along. simpl. replace (1 / 1) with 1 by field. rewrite ln_1. reflexivity. }
  assert (B := fun x => decision_positive ts n pi P (S m) y x L I H). assert (C := fun x => decision_positive ts n a Q (S m) y x L I K).
  destruct (in_strings ts m y I) as (t & s & -> & It & Is). simpl in H, K.
  assert (B1 := B (s, t) (or_introl eq_refl)). assert (C1 := C (s, t) (or_introl eq_refl)). simpl in B1, C1.
  assert (H' : 0 < prob pi s) by (apply Rmult_lt_reg_r with (pi s t); lra).
  assert (K' : 0 < prob a s) by (apply Rmult_lt_reg_r with (a s t); lra).
  assert (E := IH s ltac:(lia) Is H' K'). unfold along in *. simpl. rewrite E. unfold ratio. simpl.
  rewrite !ln_quotient, !ln_mult by (auto; apply Rmult_lt_0_compat; auto). ring.
Qed.
Theorem rehearsed_tokens : forall (ts : list A) n pi a valid, policy ts n pi -> policy ts n a ->
  0 < mass (strings ts n) (prob a) valid ->
  let target := filtered (strings ts n) (prob a) valid in covers (strings ts n) (prob pi) target ->
  token_loss ts n forward pi a valid = sum (strings ts n) (fun y => target y * forward (prob pi y / prob a y)) /\
  token_loss ts n forward pi a valid = kl (strings ts n) target (prob pi) + ln (mass (strings ts n) (prob a) valid) /\
  ln (mass (strings ts n) (prob a) valid) <= token_loss ts n forward pi a valid /\
  (token_loss ts n forward pi a valid = ln (mass (strings ts n) (prob a) valid) <->
    forall y, In y (strings ts n) -> prob pi y = target y).
Proof.
  intros ts n pi a v P Q M target C. assert (La := prob_law ts n a Q n (le_n n)). assert (F := filtered_law _ _ v La M).
  fold target in F. set (l := ln (mass _ _ v)).
  assert (T : token_loss ts n forward pi a v = sum (strings ts n) (fun y => target y * forward (prob pi y / prob a y)) /\
    token_loss ts n forward pi a v = kl (strings ts n) target (prob pi) + l).
  { assert (E : forall y, In y (strings ts n) -> target y * along forward pi a y = target y * forward (prob pi y / prob a y) /\
      target y * forward (prob pi y / prob a y) = target y * (ln (target y) - ln (prob pi y)) + l * target y).
    { intros y I. destruct (proj1 F y I) as [H| <-]; [|split; ring]. assert (B := C y I H).
      assert (K : 0 < prob a y).
      { destruct (proj1 La y I) as [K|K]; [exact K|]. unfold target, filtered in H. rewrite <- K, Rmult_0_r in H.
        unfold Rdiv in H. rewrite Rmult_0_l in H. lra. }
      assert (V : v y = true). { destruct (v y) eqn:V; [reflexivity|]. unfold target, filtered in H. rewrite V in H.
        simpl in H. unfold Rdiv in H. rewrite !Rmult_0_l in H. lra. }
      split.
      - f_equal. unfold forward. rewrite <- (log_along ts n pi a P Q n y (le_n n) I B K). unfold along.
        rewrite <- (Rmult_1_l (sum _ (fun x => ln _))), Ropp_mult_distr_l, <- sum_scale. apply sum_ext. intros; ring.
      - unfold forward. rewrite ln_quotient by auto. unfold target at 3. unfold filtered. rewrite V. simpl.
        rewrite Rmult_1_l, ln_quotient by auto. fold l. ring. }
    assert (W : sum (strings ts n) (fun y => target y * forward (prob pi y / prob a y)) = kl (strings ts n) target (prob pi) + l).
    { unfold kl. replace l with (l * sum (strings ts n) target) by (rewrite (proj2 F); ring).
      rewrite <- sum_scale, <- sum_plus. apply sum_ext. intros y I. apply (E y I). }
    assert (Z : token_loss ts n forward pi a v = sum (strings ts n) (fun y => target y * forward (prob pi y / prob a y)))
      by (apply sum_ext; intros y I; apply (E y I)).
    split; [exact Z|rewrite Z; exact W]. }
  destruct T as [T1 T2]. split; [exact T1|]. split; [exact T2|]. rewrite T2.
  destruct (kl_nonneg (strings ts n) target (prob pi) F (prob_law ts n pi P n (le_n n)) C) as [N E].
  split; [lra|]. split.
  - intros H y I. symmetry. apply E; [lra|exact I].
  - intro H. rewrite (proj2 E); [ring|]. intros y I. symmetry. apply H, I.
Qed.
(* Losses that are zero at the ratio 1 only. *)
Definition zero_at_one (f : R -> R) : Prop := forall u, 0 < u -> 0 <= f u /\ (f u = 0 -> u = 1) /\ f 1 = 0.
Lemma touches_zero : forall f, touches f 0 -> zero_at_one f.
Proof.
  intros f [Z T] u U. split; [|split; [|exact Z]].
  - destruct (Req_dec u 1) as [->|N]; [lra|]. assert (H := T u U N). lra.
  - intro E. destruct (Req_dec u 1) as [|N]; [assumption|]. assert (H := T u U N). lra.
Qed.
Theorem token_losses_vanish : forall al, al <> 0 -> al <> 1 -> zero_at_one k3 /\ zero_at_one k2 /\ zero_at_one jensen_shannon /\
  zero_at_one (alpha_form al) /\ zero_at_one half_distance.
Proof.
  intros al A0 A1. assert (N : forall f f1 f2, In (f, f1, f2) (named al) -> f1 1 = 0 -> zero_at_one f).
  { intros f f1 f2 I Z. apply touches_zero. rewrite <- Z. apply (named_touch al f f1 f2 A0 A1 I). }
  split; [|split; [|split; [|split]]].
  - eapply (N k3); [unfold named; simpl; do 7 right; left; reflexivity|]. simpl. field.
  - intros u U. unfold k2. split; [assert (P := pow2_ge_0 (ln u)); lra|]. split; [|rewrite ln_1; field].
    intro E. assert (L : ln u = 0) by (assert (P := pow2_ge_0 (ln u)); nra). rewrite <- (exp_ln u U), L. apply exp_0.
  - eapply (N jensen_shannon); [unfold named; simpl; do 2 right; left; reflexivity|]. simpl.
    replace ((1 + 1) / 2) with 1 by field. rewrite ln_1. ring.
  - eapply (N (alpha_form al)); [unfold named; simpl; do 6 right; left; reflexivity|]. simpl.
    unfold Rpower. rewrite ln_1, Rmult_0_r, exp_0. field. exact A0.
  - apply touches_zero, half_distance_touches.
Qed.
Theorem tokens_vanish : forall (ts : list A) n f pi a valid, zero_at_one f -> policy ts n pi -> policy ts n a ->
  0 < mass (strings ts n) (prob a) valid ->
  (forall y, In y (strings ts n) -> valid y = true -> 0 < prob a y /\ 0 < prob pi y) ->
  let loss := token_loss ts n f pi a valid in
  (forall y x, In y (strings ts n) -> valid y = true -> In x (decisions y) ->
    Rabs (filtered (strings ts n) (prob a) valid y * f (ratio pi a x)) <= loss) /\ 0 <= loss /\
  (loss = 0 <-> forall y x, In y (strings ts n) -> valid y = true -> In x (decisions y) -> ratio pi a x = 1) /\
  (loss = 0 -> mass (strings ts n) (prob pi) valid = mass (strings ts n) (prob a) valid).
Proof.
  intros ts n f pi a v Z P Q M G loss. assert (La := prob_law ts n a Q n (le_n n)). assert (F := filtered_law _ _ v La M).
  set (target := filtered (strings ts n) (prob a) v) in *.
  assert (R0 : forall y x, In y (strings ts n) -> v y = true -> In x (decisions y) -> 0 < ratio pi a x).
  { intros y x I V J. destruct (G y I V) as [B C]. apply Rdiv_lt_0_compat.
    - apply (decision_positive ts n pi P n y x (le_n n) I C J).
    - apply (decision_positive ts n a Q n y x (le_n n) I B J). }
  assert (W : forall y, In y (strings ts n) -> v y = true -> weights (decisions y) (fun x => f (ratio pi a x)))
    by (intros y I V x J; apply Z, (R0 y x); auto).
  assert (none : forall y, v y = false -> target y = 0)
    by (intros y V; unfold target, filtered; rewrite V; simpl; unfold Rdiv; ring).
  assert (T : weights (strings ts n) (fun y => target y * along f pi a y)).
  { intros y I. destruct (v y) eqn:V; [|rewrite none by exact V; lra]. apply Rmult_le_pos; [apply F, I|apply sum_nonneg, W; auto]. }
  assert (zero : loss = 0 -> forall y x, In y (strings ts n) -> v y = true -> In x (decisions y) -> ratio pi a x = 1).
  { intros L y x I V J. assert (E := sum_zero_each _ _ T L y I). simpl in E.
    assert (U : 0 < target y) by (unfold target, filtered; rewrite V; simpl; apply Rdiv_lt_0_compat; [rewrite Rmult_1_l; apply (G y I V)|exact M]).
    apply Rmult_integral in E. destruct E as [E|E]; [lra|].
    apply Z; [apply (R0 y x); auto|apply (sum_zero_each _ _ (W y I V) E x J)]. }
  split; [|split; [apply sum_nonneg, T|split]].
  - intros y x I V J. assert (U := proj1 F y I). assert (H := W y I V x J). simpl in H.
    rewrite Rabs_right by (apply Rle_ge, Rmult_le_pos; auto).
    apply Rle_trans with (target y * along f pi a y).
    + apply Rmult_le_compat_l; [exact U|]. apply (term_le_sum (decisions y) (fun x => f (ratio pi a x))); auto.
    + apply (term_le_sum (strings ts n) (fun y => target y * along f pi a y)); auto.
  - split; [exact zero|]. intro H. apply sum_zero. intros y I. destruct (v y) eqn:V; [|fold target; rewrite none by exact V; ring].
    fold target. unfold along. rewrite sum_zero; [ring|]. intros x J. rewrite (H y x I V J). apply (Z 1 Rlt_0_1).
  - intro L. apply sum_ext. intros y I. destruct (v y) eqn:V; simpl; [|ring]. f_equal. destruct (G y I V) as [B C].
    assert (E := log_along ts n pi a P Q n y (le_n n) I C B). unfold along in E. rewrite sum_zero in E.
    + rewrite ln_quotient in E by auto. apply ln_inv; auto. lra.
    + intros x J. rewrite (zero L y x I V J). apply ln_1.
Qed.
(* Some outcome that has mass is not below the mean. *)
Lemma not_below_mean {Y} : forall (ys : list Y) w x, law ys w -> exists y, In y ys /\ 0 < w y /\ sum ys (fun y => w y * x y) <= x y.
Proof.
  intros ys w x [W S]. set (m := sum ys (fun y => w y * x y)).
  destruct (Exists_dec (fun y => 0 < w y /\ m <= x y) ys) as [E|N].
  { intro y. destruct (Rlt_dec 0 (w y)), (Rle_dec m (x y)); [left|right|right|right]; tauto. }
  - apply Exists_exists in E. destruct E as (y & I & H). exists y. tauto.
  - exfalso. assert (B : forall y, In y ys -> w y = 0 \/ x y < m).
    { intros y I. destruct (W y I) as [P| <-]; [right|left; reflexivity]. apply Rnot_le_lt. intro H. apply N, Exists_exists. exists y. tauto. }
    assert (G : weights ys (fun y => w y * (m - x y))).
    { intros y I. destruct (B y I) as [->|L]; [lra|]. apply Rmult_le_pos; [apply W, I|lra]. }
    assert (E : sum ys (fun y => w y * (m - x y)) = 0).
    { rewrite (sum_ext ys _ (fun y => m * w y - w y * x y)) by (intros; ring). rewrite sum_minus, sum_scale, S. fold m. ring. }
    assert (sum ys w = 0); [|lra]. apply sum_zero. intros y I. assert (Z := sum_zero_each ys _ G E y I). simpl in Z.
    destruct (B y I) as [Q|L]; [exact Q|]. apply Rmult_integral in Z. destruct Z; lra.
Qed.
Theorem tokens_hold_the_mass : forall (ts : list A) n pi a valid rare, policy ts n pi -> policy ts n a ->
  0 < mass (strings ts n) (prob a) valid -> 0 <= rare -> (1 <= n)%nat ->
  (forall y, In y (strings ts n) -> valid y = true -> 0 < prob a y /\ 0 < prob pi y) ->
  (forall y, In y (strings ts n) -> valid y = true -> rare <= filtered (strings ts n) (prob a) valid y) ->
  rare / (2 * INR n) * ln (mass (strings ts n) (prob pi) valid / mass (strings ts n) (prob a) valid) ^ 2 <=
  token_loss ts n k2 pi a valid.
Proof.
  intros ts n pi a v rare P Q M R0 Hn G B. assert (La := prob_law ts n a Q n (le_n n)). assert (F := filtered_law _ _ v La M).
  set (target := filtered (strings ts n) (prob a) v) in *. set (u := fun y => prob pi y / prob a y).
  assert (K := lt_0_INR n ltac:(lia)).
  assert (none : forall y, v y = false -> target y = 0)
    by (intros y V; unfold target, filtered; rewrite V; simpl; unfold Rdiv; ring).
  assert (V0 : forall y, 0 < target y -> v y = true).
  { intros y H. destruct (v y) eqn:V; [reflexivity|]. rewrite none in H by exact V. lra. }
  assert (X : sum (strings ts n) (fun y => target y * u y) = mass (strings ts n) (prob pi) v / mass (strings ts n) (prob a) v).
  { unfold mass at 1, Rdiv. rewrite Rmult_comm, <- sum_scale. apply sum_ext. intros y I. unfold target, filtered, u.
    destruct (v y) eqn:V; simpl; [|unfold Rdiv; ring]. destruct (G y I V) as [H _]. field. lra. }
  set (m := mass (strings ts n) (prob pi) v / mass (strings ts n) (prob a) v) in *.
  assert (U : forall y, In y (strings ts n) -> 0 < target y -> 0 < u y).
  { intros y I H. destruct (G y I (V0 y H)) as [C D]. apply Rdiv_lt_0_compat; auto. }
  assert (far : exists y, In y (strings ts n) /\ 0 < target y /\ ln m ^ 2 <= ln (u y) ^ 2).
  { assert (pos : 0 < m).
    { destruct (not_below_mean (strings ts n) target (fun y => - u y) F) as (y & I & H & L).
      rewrite (sum_ext _ (fun y => target y * - u y) (fun y => -1 * (target y * u y))), sum_scale, X in L by (intros; ring).
      assert (C := U y I H). lra. }
    destruct (Rle_or_lt 1 m) as [L1|L1].
    - destruct (not_below_mean (strings ts n) target u F) as (y & I & H & L). exists y. rewrite X in L. split; [exact I|]. split; [exact H|].
      assert (0 <= ln m) by (rewrite <- ln_1; destruct L1 as [L1|<-]; [left; apply ln_increasing; lra|right; reflexivity]).
      assert (ln m <= ln (u y)) by (destruct L as [L|<-]; [left; apply ln_increasing; lra|right; reflexivity]). nra.
    - destruct (not_below_mean (strings ts n) target (fun y => - u y) F) as (y & I & H & L). exists y.
      rewrite (sum_ext _ (fun y => target y * - u y) (fun y => -1 * (target y * u y))), sum_scale, X in L by (intros; ring).
      split; [exact I|]. split; [exact H|]. assert (C := U y I H).
      assert (ln m < 0) by (rewrite <- ln_1; apply ln_increasing; lra).
      assert (ln (u y) <= ln m) by (destruct (Rle_lt_or_eq_dec (u y) m ltac:(lra)) as [D| ->]; [left; apply ln_increasing; lra|right; reflexivity]). nra. }
  destruct far as (y & I & H & L). assert (V := V0 y H). destruct (G y I V) as [C D].
  assert (S := log_along ts n pi a P Q n y (le_n n) I D C). fold (u y) in S. unfold along in S.
  assert (N : sum (decisions y) (fun _ => 1) = INR n).
  { rewrite <- (strings_length ts n y I). clear. induction y as [|t s IH]; [reflexivity|]. cbn [decisions sum length]. rewrite IH, S_INR. ring. }
  assert (CS := cauchy (decisions y) (fun _ => 1) (fun _ => 1) (fun x => ln (ratio pi a x)) ltac:(intros x _; lra)). cbv beta in CS.
  rewrite (sum_ext _ (fun x => 1 * 1 * ln _) (fun x => ln (ratio pi a x))), S in CS by (intros; ring).
  rewrite (sum_ext _ (fun x => 1 * Rsqr 1) (fun _ => 1)), N in CS by (intros; unfold Rsqr; ring).
  rewrite (sum_ext _ (fun x => 1 * Rsqr (ln _)) (fun x => 2 * k2 (ratio pi a x))), sum_scale in CS by (intros; unfold Rsqr, k2; field).
  fold (along k2 pi a y) in CS. unfold Rsqr in CS.
  assert (T : weights (strings ts n) (fun y => target y * along k2 pi a y)).
  { intros z J. apply Rmult_le_pos; [apply F, J|]. apply sum_nonneg. intros x _. unfold k2. assert (E := pow2_ge_0 (ln (ratio pi a x))). lra. }
  apply Rle_trans with (target y * along k2 pi a y); [|apply (term_le_sum _ _ y T I)].
  assert (W : 0 <= along k2 pi a y) by (apply sum_nonneg; intros x _; unfold k2; assert (E := pow2_ge_0 (ln (ratio pi a x))); lra).
  apply Rle_trans with (rare * along k2 pi a y); [|apply Rmult_le_compat_r; auto].
  unfold Rdiv. rewrite Rmult_assoc. apply Rmult_le_compat_l; [exact R0|].
  apply Rmult_le_reg_l with (2 * INR n); [lra|]. rewrite <- Rmult_assoc, Rinv_r by lra. nra.
Qed.
End Samples.
