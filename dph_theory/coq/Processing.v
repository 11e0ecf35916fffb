(* A channel never increases KL, so closeness to a reference bounds the return: answers and processes. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws KLControl Frontier Divergences Trees.
Import ListNotations. Open Scope R_scope.

(* The law of what a channel makes of an outcome: w y z is the chance that y becomes z. *)
Definition through {Y Z : Type} (ys : list Y) (w : Y -> Z -> R) (q : Y -> R) (z : Z) : R := sum ys (fun y => q y * w y z).
Definition channel {Y Z : Type} (ys : list Y) (zs : list Z) (w : Y -> Z -> R) : Prop := forall y, In y ys -> law zs (w y).
Lemma sum_swap {Y Z} : forall (ys : list Y) (zs : list Z) f,
  sum ys (fun y => sum zs (f y)) = sum zs (fun z => sum ys (fun y => f y z)).
Proof.
  intros ys zs f. induction ys as [|y ys IH]; simpl; [symmetry; apply sum_zero; auto|]. rewrite IH, <- sum_plus. reflexivity.
Qed.
Lemma log_sum {Y} : forall (ys : list Y) a b, weights ys a -> weights ys b -> covers ys b a ->
  sum ys a * (ln (sum ys a) - ln (sum ys b)) <= sum ys (fun y => a y * (ln (a y) - ln (b y))).
Proof.
  intros ys a b Wa Wb C. destruct (sum_nonneg ys a Wa) as [A|A].
  - assert (B : 0 < sum ys b).
    { destruct (sum_nonneg ys b Wb) as [B|B]; [exact B|exfalso]. assert (Z := sum_zero_each ys b Wb (eq_sym B)).
      assert (sum ys a = 0); [|lra]. apply sum_zero. intros y I. destruct (Wa y I) as [H|H]; [|auto].
      assert (K := C y I H). rewrite (Z y I) in K. lra. }
    set (r := sum ys a / sum ys b). assert (P : 0 < r) by (apply Rdiv_lt_0_compat; auto).
    apply Rle_trans with (sum ys (fun y => (ln (sum ys a) - ln (sum ys b)) * a y + (a y - r * b y))).
    + right. rewrite sum_plus, sum_minus, !sum_scale. unfold r. field. lra.
    + apply sum_le. intros y I. destruct (gibbs_term (a y) (r * b y)) as [T _]; auto.
      * apply Rmult_le_pos; [lra|auto].
      * intro H. apply Rmult_lt_0_compat; [exact P|apply C; auto].
      * destruct (Wa y I) as [H|H]; [|rewrite <- H; assert (0 <= r * b y) by (apply Rmult_le_pos; [lra|auto]); lra].
        rewrite ln_mult in T by (auto; apply C; auto). unfold r in T at 2. rewrite ln_quotient in T by auto. lra.
  - rewrite <- A, Rmult_0_l. right. symmetry. apply sum_zero. intros y I. rewrite (sum_zero_each ys a Wa (eq_sym A) y I). ring.
Qed.
Theorem processing {Y Z} : forall (ys : list Y) (zs : list Z) w q p, law ys q -> law ys p -> covers ys p q ->
  channel ys zs w -> kl zs (through ys w q) (through ys w p) <= kl ys q p.
Proof.
  intros ys zs w q p [Wq _] [Wp _] C W. unfold kl.
  apply Rle_trans with (sum zs (fun z => sum ys (fun y => q y * w y z * (ln (q y) - ln (p y))))).
  - apply sum_le. intros z J. unfold through.
    assert (N : forall l, weights ys l -> weights ys (fun y => l y * w y z)).
    { intros l H y I. apply Rmult_le_pos; [apply H, I|apply (W y I), J]. }
    apply Rle_trans with (1 := log_sum ys _ _ (N q Wq) (N p Wp) ltac:(intros y I H; assert (V := proj1 (W y I) z J);
      destruct V as [V|V]; [apply Rmult_lt_0_compat; [apply C; auto; nra|exact V]|rewrite <- V, Rmult_0_r in H; lra])).
    right. apply sum_ext. intros y I. destruct (proj1 (W y I) z J) as [V| <-]; [|ring].
    destruct (Wq y I) as [H| <-]; [|ring]. rewrite !ln_mult by auto. ring.
  - right. rewrite <- sum_swap. apply sum_ext. intros y I.
    rewrite (sum_ext zs _ (fun z => q y * (ln (q y) - ln (p y)) * w y z)) by (intros; ring).
    rewrite sum_scale, (proj2 (W y I)). ring.
Qed.
(* A reward in [0, 1] is a toss for success. *)
Definition mean {Y : Type} (ys : list Y) (q reward : Y -> R) : R := sum ys (fun y => q y * reward y).
Lemma returns {Y} : forall (ys : list Y) q p reward, law ys q -> law ys p -> covers ys p q ->
  (forall y, In y ys -> 0 <= reward y <= 1) -> bernoulli_kl (mean ys q reward) (mean ys p reward) <= kl ys q p.
Proof.
  intros ys q p r Lq Lp C B. assert (P := processing ys two (fun y => coin (r y)) q p Lq Lp C (fun y I => coin_law (r y) (B y I))).
  assert (F : forall l, law ys l -> sum ys (fun y => l y * (1 - r y)) = 1 - mean ys l r).
  { intros l [_ S]. rewrite (sum_ext ys _ (fun y => l y - l y * r y)) by (intros; ring). rewrite sum_minus, S. reflexivity. }
  unfold kl at 1, through, two in P. simpl in P. rewrite !F in P by auto. unfold bernoulli_kl. unfold mean in *. lra.
Qed.
Theorem reference_return : forall (A : Type) (ts : list A) n ref pi reward, policy ts n ref -> policy ts n pi ->
  reaches ts n pi ref -> (forall y, In y (strings ts n) -> 0 <= reward y <= 1) ->
  bernoulli_kl (mean (strings ts n) (prob ref) reward) (mean (strings ts n) (prob pi) reward) <= token_kl ts n ref pi.
Proof.
  intros A ts n ref pi r P Q C B. rewrite chain_rule by auto.
  apply returns; auto; [apply (prob_law ts n ref P)|apply (prob_law ts n pi Q)|apply (prob_covers ts n ref pi P C)]; lia.
Qed.
(* No g below J(pi_pef) that is as far as the tokens' KL lies above J(pi). *)
Lemma bernoulli_kl_falls : forall m g x, 0 <= m <= 1 -> 0 < x < g -> g <= m -> bernoulli_kl m g < bernoulli_kl m x.
Proof.
  intros m g x Hm Hx Hg. rewrite (kappa_line m g x). destruct (bernoulli_kl_nonneg g x ltac:(lra) ltac:(lra)) as [P Q].
  assert (0 < bernoulli_kl g x) by (destruct P as [P|P]; [exact P|symmetry in P; specialize (Q P); lra]).
  destruct (Req_dec g m) as [->|N]; [lra|]. assert (L : logit x < logit g).
  { unfold logit. assert (A := ln_increasing x g ltac:(lra) ltac:(lra)). assert (B := ln_increasing (1 - g) (1 - x) ltac:(lra) ltac:(lra)). lra. }
  nra.
Qed.
Theorem least_return : forall (A : Type) (ts : list A) n ref pi reward g, policy ts n ref -> policy ts n pi ->
  reaches ts n pi ref -> (forall y, In y (strings ts n) -> 0 <= reward y <= 1) ->
  0 < g <= mean (strings ts n) (prob ref) reward ->
  token_kl ts n ref pi <= bernoulli_kl (mean (strings ts n) (prob ref) reward) g -> g <= mean (strings ts n) (prob pi) reward.
Proof.
  intros A ts n ref pi r g P Q C B G H. assert (K := reference_return A ts n ref pi r P Q C B).
  set (J := mean (strings ts n) (prob pi) r) in *. set (m := mean (strings ts n) (prob ref) r) in *.
  assert (Lr := prob_law ts n ref P n (le_n n)). assert (Lp := prob_law ts n pi Q n (le_n n)). assert (Cv := prob_covers ts n ref pi P C n (le_n n)).
  assert (W : weights (strings ts n) (fun y => prob pi y * r y)) by (intros y I; apply Rmult_le_pos; [apply Lp, I|apply (B y I)]).
  assert (m1 : m <= 1).
  { unfold m, mean. rewrite <- (proj2 Lr). apply sum_le. intros y I. assert (X := proj1 Lr y I). assert (Y := B y I). nra. }
  assert (J0 : 0 < J).
  { destruct (sum_nonneg _ _ W) as [X|X]; [exact X|exfalso]. assert (Z := sum_zero_each _ _ W (eq_sym X)).
    assert (m = 0); [|lra]. apply sum_zero. intros y I. specialize (Z y I). simpl in Z.
    destruct (proj1 Lr y I) as [R| <-]; [|ring]. assert (T := Cv y I R). assert (r y = 0) by nra. nra. }
  destruct (Rle_or_lt g J) as [|L]; [assumption|exfalso].
  assert (X := bernoulli_kl_falls m g J ltac:(lra) ltac:(lra) ltac:(lra)). lra.
Qed.
(* A process of any number of steps: states ss, actions acts, P s a the law of the next state. *)
Section Processes.
Context {X A : Type}.
Definition move (acts : list A) (P : X -> A -> X -> R) (pi : X -> A -> R) (s s' : X) : R := sum acts (fun a => pi s a * P s a s').
Fixpoint visits (ss : list X) (acts : list A) (P : X -> A -> X -> R) (start : X -> R) (pi : X -> A -> R) (t : nat) : X -> R :=
  match t with O => start | S k => through ss (move acts P pi) (visits ss acts P start pi k) end.
Lemma through_law {Y Z} : forall (ys : list Y) (zs : list Z) w q, law ys q -> channel ys zs w -> law zs (through ys w q).
Proof.
  intros ys zs w q [W T] C. split.
  - intros z J. apply sum_nonneg. intros y I. apply Rmult_le_pos; [apply W, I|apply (C y I), J].
  - unfold through. rewrite <- sum_swap, <- T. apply sum_ext. intros y I. rewrite sum_scale, (proj2 (C y I)). ring.
Qed.
Lemma through_covers {Y Z} : forall (ys : list Y) (zs : list Z) v w p q, law ys q -> law ys p -> covers ys p q ->
  channel ys zs v -> channel ys zs w -> (forall y, In y ys -> 0 < q y -> covers zs (v y) (w y)) ->
  covers zs (through ys v p) (through ys w q).
Proof.
  intros ys zs v w p q Lq Lp C V W K z J H. assert (N : weights ys (fun y => p y * v y z)).
  { intros y I. apply Rmult_le_pos; [apply Lp, I|apply (V y I), J]. }
  destruct (sum_nonneg ys _ N) as [G|G]; [exact G|exfalso]. assert (E := sum_zero_each ys _ N (eq_sym G)).
  unfold through in H. rewrite (sum_zero ys) in H; [lra|]. intros y I. destruct (proj1 Lq y I) as [A1| <-]; [|ring].
  destruct (proj1 (W y I) z J) as [A2| <-]; [|ring]. assert (A3 := C y I A1). assert (A4 := K y I A1 z J A2).
  assert (A5 := E y I). simpl in A5. assert (0 < p y * v y z) by (apply Rmult_lt_0_compat; auto). lra.
Qed.
(* One step: the states and actions, then the next states. *)
Lemma step : forall (ss : list X) (acts : list A) P d e q p, law ss d -> law ss e -> covers ss e d ->
  channel ss acts q -> channel ss acts p -> (forall s, In s ss -> 0 < d s -> covers acts (p s) (q s)) ->
  (forall s, In s ss -> channel acts ss (P s)) ->
  kl ss (through ss (move acts P q) d) (through ss (move acts P p) e) <= kl ss d e + sum ss (fun s => d s * kl acts (q s) (p s)).
Proof.
  intros ss acts P d e q p Ld Le C Q U K L. set (pairs := list_prod ss acts).
  assert (S : forall f, sum pairs f = sum ss (fun s => sum acts (fun a => f (s, a)))).
  { intro f. unfold pairs. clear. induction ss as [|s r IH]; simpl; [reflexivity|]. rewrite sum_app, IH. f_equal.
    clear. induction acts as [|a r IA]; simpl; [reflexivity|]. rewrite IA. reflexivity. }
  assert (J : forall l pi, law ss l -> channel ss acts pi -> law pairs (fun x => l (fst x) * pi (fst x) (snd x))).
  { intros l pi [W T] V. split.
    - intros [s a] I. apply in_prod_iff in I. apply Rmult_le_pos; [apply W, I|apply (V s (proj1 I)), I].
    - rewrite S, <- T. apply sum_ext. intros s I. simpl. rewrite sum_scale, (proj2 (V s I)). ring. }
  assert (B := processing pairs ss (fun x => P (fst x) (snd x)) _ _ (J d q Ld Q) (J e p Le U)). unfold kl at 1 in B.
  assert (E : forall l pi s', through pairs (fun x => P (fst x) (snd x)) (fun x => l (fst x) * pi (fst x) (snd x)) s' =
    through ss (move acts P pi) l s').
  { intros l pi s'. unfold through, move. rewrite S. apply sum_ext. intros s I. rewrite <- sum_scale. apply sum_ext. intros; simpl; ring. }
  rewrite (sum_ext ss _ (fun s' => through ss (move acts P q) d s' *
    (ln (through ss (move acts P q) d s') - ln (through ss (move acts P p) e s')))) in B by (intros; rewrite !E; reflexivity).
  apply Rle_trans with (1 := B ltac:(intros [s a] I H; apply in_prod_iff in I; destruct I as [I I']; simpl in *;
    destruct (proj1 Ld s I) as [D|D]; [|rewrite <- D in H; lra]; destruct (proj1 (Q s I) a I') as [G|G]; [|rewrite <- G in H; lra];
    apply Rmult_lt_0_compat; [apply C; auto|apply (K s I D); auto])
    ltac:(intros [s a] I; apply in_prod_iff in I; apply (L s (proj1 I)), I)).
  right. unfold kl. rewrite S, <- sum_plus. apply sum_ext. intros s I. simpl. destruct (proj1 Ld s I) as [D| <-].
  - rewrite (sum_ext acts _ (fun a => d s * (ln (d s) - ln (e s)) * q s a + d s * (q s a * (ln (q s a) - ln (p s a))))).
    + rewrite sum_plus, !sum_scale, (proj2 (Q s I)). ring.
    + intros a I'. destruct (proj1 (Q s I) a I') as [G| <-]; [|ring]. rewrite !ln_mult; auto; [ring|apply (K s I D a I' G)].
  - rewrite !Rmult_0_l, Rplus_0_r. apply sum_zero. intros; ring.
Qed.
Theorem horizon_return : forall (ss : list X) (acts : list A) P start pef pi n worth, law ss start ->
  channel ss acts pef -> channel ss acts pi -> (forall s, In s ss -> channel acts ss (P s)) ->
  (forall t, (t < n)%nat -> forall s, In s ss -> 0 < visits ss acts P start pef t s -> covers acts (pi s) (pef s)) ->
  (forall s, In s ss -> 0 <= worth s <= 1) ->
  bernoulli_kl (mean ss (visits ss acts P start pef n) worth) (mean ss (visits ss acts P start pi n) worth) <=
  sum (seq 0 n) (fun t => sum ss (fun s => visits ss acts P start pef t s * kl acts (pef s) (pi s))).
Proof.
  intros ss acts P start pef pi n worth L Q U T K B. set (d := visits ss acts P start pef) in *. set (e := visits ss acts P start pi).
  assert (C : forall p, channel ss acts p -> channel ss ss (move acts P p)).
  { intros p V s I. apply (through_law acts ss (P s) (p s) (V s I)). apply T, I. }
  assert (D : forall t, law ss (d t)) by (induction t; [exact L|apply through_law; auto]).
  assert (E : forall t, law ss (e t)) by (induction t; [exact L|apply through_law; auto]).
  assert (G : forall t, (t <= n)%nat -> covers ss (e t) (d t) /\
    kl ss (d t) (e t) <= sum (seq 0 t) (fun t => sum ss (fun s => d t s * kl acts (pef s) (pi s)))).
  2: { destruct (G n (le_n n)) as [V W]. apply Rle_trans with (2 := W). apply returns; auto. }
  induction t as [|t IH]; intro N.
  - split; [intros s _ H; exact H|]. right. apply sum_zero. intros. unfold d, e. simpl. ring.
  - destruct (IH ltac:(lia)) as [V W]. split.
    2: { assert (F : kl ss (d (S t)) (e (S t)) <= kl ss (d t) (e t) + sum ss (fun s => d t s * kl acts (pef s) (pi s))).
      { apply step; auto; intros s I; apply (K t); auto; lia. }
      rewrite seq_S, sum_app. simpl (sum [(0 + t)%nat] _). lra. }
    apply through_covers; auto. intros s I H. apply (through_covers acts ss (P s) (P s) (pi s) (pef s)); auto.
    + apply (K t); auto; lia.
    + intros a J _ s' _ H'. exact H'.
Qed.
End Processes.
