(* Answers of any number of tokens: the chain rule and the locally filtered model. A prefix is the list of
   its tokens, the last one first; a policy gives the next token's law after a prefix. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Pinsker KLControl Frontier.
Import ListNotations. Open Scope R_scope.

(* All answers of n tokens; the probability of one. *)
Fixpoint strings {A : Type} (ts : list A) (n : nat) : list (list A) :=
  match n with O => [[]] | S m => flat_map (fun h => map (fun t => t :: h) ts) (strings ts m) end.
Fixpoint prob {A : Type} (pi : list A -> A -> R) (h : list A) : R :=
  match h with [] => 1 | t :: s => prob pi s * pi s t end.
(* The mean over prefixes drawn from ref of the KL between the next token's laws, added up over the tokens. *)
Definition token_kl {A : Type} (ts : list A) (n : nat) (ref pi : list A -> A -> R) : R :=
  sum (seq 0 n) (fun m => sum (strings ts m) (fun h => prob ref h * kl ts (ref h) (pi h))).

Section Tokens.
Context {A : Type}.
Lemma sum_strings : forall (ts : list A) m f,
  sum (strings ts (S m)) f = sum (strings ts m) (fun h => sum ts (fun t => f (t :: h))).
Proof.
  intros ts m f. simpl. induction (strings ts m) as [|h hs IH]; simpl; [reflexivity|]. rewrite sum_app, IH. f_equal.
  clear. induction ts as [|t r IT]; simpl; [reflexivity|]. rewrite IT. reflexivity.
Qed.
Lemma in_strings : forall (ts : list A) m y, In y (strings ts (S m)) ->
  exists t h, y = t :: h /\ In t ts /\ In h (strings ts m).
Proof.
  intros ts m y I. simpl in I. apply in_flat_map in I. destruct I as (h & Ih & I). apply in_map_iff in I.
  destruct I as (t & <- & It). exists t, h. auto.
Qed.
(* After each prefix of fewer than n tokens that is ever reached, the next token has a law. *)
Definition policy (ts : list A) (n : nat) (ref : list A -> A -> R) : Prop :=
  forall m, In m (seq 0 n) -> forall h, In h (strings ts m) -> 0 < prob ref h -> law ts (ref h).
Lemma prob_law : forall (ts : list A) n ref, policy ts n ref -> forall m, (m <= n)%nat ->
  law (strings ts m) (prob ref).
Proof.
  intros ts n ref P. induction m as [|m IH]; intro L.
  { split; [intros y [<-|[]]; simpl; lra|simpl; lra]. }
  destruct (IH ltac:(lia)) as [W S]. assert (J : In m (seq 0 n)) by (apply in_seq; lia). split.
  - intros y I. destruct (in_strings ts m y I) as (t & h & -> & It & Ih). simpl.
    destruct (W h Ih) as [H| <-]; [|lra]. apply Rmult_le_pos; [lra|apply (P m J h Ih H), It].
  - rewrite sum_strings, <- S. apply sum_ext. intros h I. simpl. rewrite sum_scale.
    destruct (W h I) as [H| <-]; [|ring]. rewrite (proj2 (P m J h I H)). ring.
Qed.
(* pi has a mass wherever ref has one: the divergences are finite. *)
Definition reaches (ts : list A) (n : nat) (pi ref : list A -> A -> R) : Prop :=
  forall m, In m (seq 0 n) -> forall h, In h (strings ts m) -> 0 < prob ref h -> covers ts (pi h) (ref h).
Lemma prob_covers : forall (ts : list A) n ref pi, policy ts n ref -> reaches ts n pi ref ->
  forall m, (m <= n)%nat -> covers (strings ts m) (prob pi) (prob ref).
Proof.
  intros ts n ref pi P Q. induction m as [|m IH]; intros L y I H; [destruct I as [<-|[]]; simpl; lra|].
  destruct (in_strings ts m y I) as (t & h & -> & It & Ih). simpl in *. assert (J : In m (seq 0 n)) by (apply in_seq; lia).
  destruct (proj1 (prob_law ts n ref P m ltac:(lia)) h Ih) as [B|B]; [|rewrite <- B in H; lra].
  destruct (proj1 (P m J h Ih B) t It) as [D|D]; [|rewrite <- D in H; lra].
  apply Rmult_lt_0_compat; [apply (IH ltac:(lia) h Ih B)|apply (Q m J h Ih B t It D)].
Qed.
Theorem chain_rule : forall (ts : list A) n ref pi, policy ts n ref -> reaches ts n pi ref ->
  token_kl ts n ref pi = kl (strings ts n) (prob ref) (prob pi).
Proof.
  intros ts n ref pi P Q. unfold token_kl. assert (G : forall k, (k <= n)%nat -> sum (seq 0 k) (fun m =>
    sum (strings ts m) (fun h => prob ref h * kl ts (ref h) (pi h))) = kl (strings ts k) (prob ref) (prob pi)).
  2: { apply G. lia. }
  induction k as [|k IH]; intro L; [unfold kl; simpl; ring|].
  rewrite seq_S, sum_app, IH by lia. simpl (sum [(0 + k)%nat] _). rewrite Rplus_0_r. unfold kl at 3.
  rewrite sum_strings. unfold kl at 1. rewrite <- sum_plus. apply sum_ext. intros h I. unfold kl. simpl.
  assert (J : In k (seq 0 n)) by (apply in_seq; lia).
  destruct (proj1 (prob_law ts n ref P k ltac:(lia)) h I) as [H|H].
  - assert (N := P k J h I H).
    rewrite (sum_ext ts (fun t => prob ref h * ref h t * _) (fun t => prob ref h * (ln (prob ref h) - ln (prob pi h))
      * ref h t + prob ref h * (ref h t * (ln (ref h t) - ln (pi h t))))).
    + rewrite sum_plus, !sum_scale, (proj2 N). ring.
    + intros t It. destruct (proj1 N t It) as [Z| <-]; [|ring].
      assert (B := prob_covers ts n ref pi P Q k ltac:(lia) h I H). assert (D := Q k J h I H t It Z).
      rewrite !ln_mult by auto. ring.
  - rewrite <- H, !Rmult_0_l, Rplus_0_l. symmetry. apply sum_zero. intros; ring.
Qed.
(* Whether a valid answer can be reached in m more tokens; the base, restricted to the tokens that keep this so. *)
Fixpoint alive (ts : list A) (valid : list A -> bool) (m : nat) (h : list A) : bool :=
  match m with O => valid h | S k => existsb (fun t => alive ts valid k (t :: h)) ts end.
Definition kept (ts : list A) (valid : list A -> bool) (n : nat) (a : list A -> A -> R) (h : list A) : R :=
  mass ts (a h) (fun t => alive ts valid (n - S (length h)) (t :: h)).
Definition local (ts : list A) (valid : list A -> bool) (n : nat) (a : list A -> A -> R) (h : list A) (t : A) : R :=
  filtered ts (a h) (fun t => alive ts valid (n - S (length h)) (t :: h)) t.
Lemma strings_length : forall (ts : list A) m y, In y (strings ts m) -> length y = m.
Proof.
  induction m as [|m IH]; intros y I; [destruct I as [<-|[]]; reflexivity|].
  destruct (in_strings ts m y I) as (t & h & -> & _ & Ih). simpl. f_equal. apply IH, Ih.
Qed.
(* Tokens that lead to a valid answer have mass; the others may have none. *)
Definition open (ts : list A) (valid : list A -> bool) (n : nat) (a : list A -> A -> R) : Prop :=
  forall m, In m (seq 0 n) -> forall h, In h (strings ts m) -> forall t, In t ts ->
  alive ts valid (n - S m) (t :: h) = true -> 0 < a h t.
Lemma kept_positive : forall (ts : list A) valid n a m h, (forall h, law ts (a h)) -> open ts valid n a -> (m < n)%nat ->
  In h (strings ts m) -> alive ts valid (n - m) h = true -> 0 < kept ts valid n a h.
Proof.
  intros ts v n a m h La O L I V. unfold kept. rewrite (strings_length ts m h I).
  replace (n - m)%nat with (S (n - S m)) in V by lia. simpl in V. apply existsb_exists in V. destruct V as (t & It & V).
  apply Rlt_le_trans with (one (alive ts v (n - S m) (t :: h)) * a h t).
  - rewrite V. simpl. rewrite Rmult_1_l. apply (O m ltac:(apply in_seq; lia) h I t It V).
  - apply (term_le_sum ts (fun t => one (alive ts v (n - S m) (t :: h)) * a h t)); auto. apply mass_weights, La.
Qed.
(* Prefixes that the locally filtered model reaches can still end in a valid answer. *)
Lemma local_alive : forall (ts : list A) valid n a, alive ts valid n [] = true -> forall m h, (m <= n)%nat ->
  In h (strings ts m) -> 0 < prob (local ts valid n a) h -> alive ts valid (n - m) h = true.
Proof.
  intros ts v n a V. induction m as [|m IH]; intros h L I H.
  { destruct I as [<-|[]]. rewrite Nat.sub_0_r. exact V. }
  destruct (in_strings ts m h I) as (t & s & -> & It & Is). simpl in H. unfold local, filtered in H.
  rewrite (strings_length ts m s Is) in H. destruct (alive ts v (n - S m) (t :: s)); [reflexivity|].
  simpl in H. unfold Rdiv in H. rewrite !Rmult_0_l, Rmult_0_r in H. lra.
Qed.
Lemma local_policy : forall (ts : list A) valid n a, (forall h, law ts (a h)) -> open ts valid n a ->
  alive ts valid n [] = true -> policy ts n (local ts valid n a).
Proof.
  intros ts v n a La O V m J h I H. apply in_seq in J. apply filtered_law; [apply La|].
  apply (kept_positive ts v n a m h La O); [lia|exact I|apply (local_alive ts v n a V m h); auto; lia].
Qed.
Lemma local_reaches : forall (ts : list A) valid n a, open ts valid n a -> reaches ts n a (local ts valid n a).
Proof.
  intros ts v n a O m J h I H t It X. unfold local, filtered in X. rewrite (strings_length ts m h I) in X.
  destruct (alive ts v (n - S m) (t :: h)) eqn:E; [exact (O m J h I t It E)|].
  simpl in X. unfold Rdiv in X. rewrite !Rmult_0_l in X. lra.
Qed.
Theorem local_cost : forall (ts : list A) n a valid, (forall h, law ts (a h)) -> open ts valid n a ->
  alive ts valid n [] = true ->
  kl (strings ts n) (prob (local ts valid n a)) (prob a) =
  sum (seq 0 n) (fun m => sum (strings ts m) (fun h => prob (local ts valid n a) h * - ln (kept ts valid n a h))).
Proof.
  intros ts n a v La O V. assert (Q := local_policy ts v n a La O V). rewrite <- chain_rule; auto.
  - apply sum_ext. intros m J. apply sum_ext. intros h I. assert (J' := J). apply in_seq in J'.
    destruct (proj1 (prob_law ts n _ Q m ltac:(lia)) h I) as [H| <-]; [|ring]. f_equal.
    assert (K := kept_positive ts v n a m h La O ltac:(lia) I (local_alive ts v n a V m h ltac:(lia) I H)).
    assert (F := filtered_law ts (a h) _ (La h) K). rewrite <- (Rmult_1_r (- _)), <- (proj2 F), <- sum_scale.
    apply sum_ext. intros t It. unfold local, kept, filtered in *. rewrite (strings_length ts m h I) in *.
    assert (X := O m J h I t It). destruct (alive ts v (n - S m) (t :: h)); [|simpl; unfold Rdiv; ring].
    specialize (X eq_refl). simpl. rewrite Rmult_1_l, ln_quotient by auto. ring.
  - apply local_reaches, O.
Qed.
(* Trees of several lengths are within this: after its end an answer goes on with a token of mass 1. *)
Theorem local_dearer : forall (ts : list A) n a valid, (forall h, law ts (a h)) -> open ts valid n a ->
  alive ts valid n [] = true -> 0 < mass (strings ts n) (prob a) valid ->
  let loc := prob (local ts valid n a) in let best := filtered (strings ts n) (prob a) valid in
  kl (strings ts n) loc (prob a) = kl (strings ts n) loc best - ln (mass (strings ts n) (prob a) valid) /\
  - ln (mass (strings ts n) (prob a) valid) <= kl (strings ts n) loc (prob a) /\
  (kl (strings ts n) loc (prob a) = - ln (mass (strings ts n) (prob a) valid) <->
    forall y, In y (strings ts n) -> loc y = best y).
Proof.
  intros ts n a v La O V M loc best. assert (Q := local_policy ts v n a La O V).
  assert (L := prob_law ts n _ Q n (le_n n)). fold loc in L.
  assert (B : law (strings ts n) (prob a)) by (apply (prob_law ts n a); [intros m _ h _ _; apply La|lia]).
  assert (C := prob_covers ts n _ a Q (local_reaches ts v n a O) n (le_n n)). fold loc in C.
  assert (W : forall y, In y (strings ts n) -> 0 < loc y -> v y = true).
  { intros y I H. assert (X := local_alive ts v n a V n y (le_n n) I H). rewrite Nat.sub_diag in X. exact X. }
  assert (D : covers (strings ts n) best loc).
  { intros y I H. unfold best, filtered. rewrite (W y I H). simpl. rewrite Rmult_1_l.
    apply Rdiv_lt_0_compat; [apply (C y I H)|exact M]. }
  assert (K : kl (strings ts n) loc (prob a) = kl (strings ts n) loc best - ln (mass (strings ts n) (prob a) v)).
  { set (l := ln _). unfold kl. rewrite <- (Rmult_1_r l), <- (proj2 L), <- sum_scale, <- sum_minus.
    apply sum_ext. intros y I. destruct (proj1 L y I) as [H| <-]; [|ring].
    unfold best, filtered. rewrite (W y I H). simpl. rewrite Rmult_1_l, ln_quotient by (auto; apply (C y I H)).
    fold l. ring. }
  destruct (kl_nonneg _ _ _ L (filtered_law _ _ v B M) D) as [P E]. fold best in P, E.
  split; [exact K|]. split; [lra|]. rewrite <- E. split; lra.
Qed.
End Tokens.
