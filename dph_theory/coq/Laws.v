(* Finite laws: sums over outcomes, laws, KL, and the lemmas of textbooks, for every number of outcomes.

   ys lists the outcomes; a law is a function q with q y the mass of the outcome y. In Coq ln 0 = 0, so the
   terms 0 ln 0 are 0; where a mass may be zero under a logarithm, the statement says what must hold there. *)
Require Import Reals List Lra Lia Psatz. From Coquelicot Require Import Coquelicot.
Import ListNotations. Open Scope R_scope.

Fixpoint sum {Y : Type} (ys : list Y) (f : Y -> R) : R :=
  match ys with [] => 0 | y :: rest => f y + sum rest f end.

Definition positive {Y : Type} (ys : list Y) (q : Y -> R) : Prop := forall y, In y ys -> 0 < q y.
Definition weights {Y : Type} (ys : list Y) (q : Y -> R) : Prop := forall y, In y ys -> 0 <= q y.
Definition law {Y : Type} (ys : list Y) (q : Y -> R) : Prop := weights ys q /\ sum ys q = 1.
(* p has a mass wherever q has one: KL(q||p) is finite. *)
Definition covers {Y : Type} (ys : list Y) (p q : Y -> R) : Prop := forall y, In y ys -> 0 < q y -> 0 < p y.

Definition kl {Y : Type} (ys : list Y) (q p : Y -> R) : R := sum ys (fun y => q y * (ln (q y) - ln (p y))).
Definition tv {Y : Type} (ys : list Y) (q p : Y -> R) : R := sum ys (fun y => Rabs (q y - p y)) / 2.

(* Sums. *)
Lemma sum_ext {Y} : forall (ys : list Y) f g, (forall y, In y ys -> f y = g y) -> sum ys f = sum ys g.
Proof.
  induction ys as [|y ys IH]; intros f g E; simpl; [reflexivity|].
  rewrite (E y) by (simpl; auto). f_equal. apply IH. intros; apply E; simpl; auto.
Qed.
Lemma sum_le {Y} : forall (ys : list Y) f g, (forall y, In y ys -> f y <= g y) -> sum ys f <= sum ys g.
Proof.
  induction ys as [|y ys IH]; intros f g E; simpl; [lra|]. assert (f y <= g y) by (apply E; simpl; auto).
  assert (sum ys f <= sum ys g) by (apply IH; intros; apply E; simpl; auto). lra.
Qed.
Lemma sum_plus {Y} : forall (ys : list Y) f g, sum ys (fun y => f y + g y) = sum ys f + sum ys g.
Proof. induction ys as [|y ys IH]; intros; simpl; [lra|]. rewrite IH; lra. Qed.
Lemma sum_minus {Y} : forall (ys : list Y) f g, sum ys (fun y => f y - g y) = sum ys f - sum ys g.
Proof. induction ys as [|y ys IH]; intros; simpl; [lra|]. rewrite IH; lra. Qed.
Lemma sum_scale {Y} : forall (ys : list Y) c f, sum ys (fun y => c * f y) = c * sum ys f.
Proof. induction ys as [|y ys IH]; intros; simpl; [lra|]. rewrite IH; lra. Qed.
Lemma sum_zero {Y} : forall (ys : list Y) f, (forall y, In y ys -> f y = 0) -> sum ys f = 0.
Proof.
  induction ys as [|y ys IH]; intros f E; simpl; [reflexivity|].
  rewrite (E y) by (simpl; auto). rewrite IH; [lra|]. intros; apply E; simpl; auto.
Qed.
Lemma sum_nonneg {Y} : forall (ys : list Y) f, weights ys f -> 0 <= sum ys f.
Proof. intros ys f H. rewrite <- (sum_zero ys (fun _ => 0)) by auto. apply sum_le. exact H. Qed.
Lemma term_le_sum {Y} : forall (ys : list Y) f y, weights ys f -> In y ys -> f y <= sum ys f.
Proof.
  induction ys as [|x ys IH]; intros f y H I; simpl in *; [contradiction|].
  assert (0 <= f x) by (apply H; simpl; auto). assert (W : weights ys f) by (intros z Hz; apply H; simpl; auto).
  assert (0 <= sum ys f) by (apply sum_nonneg; exact W). destruct I as [->|I]; [lra|]. specialize (IH f y W I). lra.
Qed.

(* A sum of weights is zero only where each is. *)
Lemma sum_zero_each {Y} : forall (ys : list Y) f, weights ys f -> sum ys f = 0 -> forall y, In y ys -> f y = 0.
Proof. intros ys f W Z y I. assert (T := term_le_sum ys f y W I). assert (P := W y I). lra. Qed.
Lemma sum_app {Y} : forall (xs ys : list Y) f, sum (xs ++ ys) f = sum xs f + sum ys f.
Proof. induction xs as [|x xs IH]; intros; simpl; [lra|]. rewrite IH; lra. Qed.

(* The logarithm. *)
Lemma ln_below : forall x, 0 < x -> ln x <= x - 1.
Proof. intros x H. assert (E := exp_ineq1_le (ln x)). rewrite exp_ln in E by exact H. lra. Qed.
Lemma ln_strictly_below : forall x, 0 < x -> x <> 1 -> ln x < x - 1.
Proof.
  intros x H N. assert (L : ln x <> 0).
  { intro L. apply N. rewrite <- (exp_ln x H), L, exp_0. reflexivity. }
  assert (E := exp_ineq1 (ln x) L). rewrite exp_ln in E by exact H. lra.
Qed.
Lemma ln_quotient : forall x y, 0 < x -> 0 < y -> ln (x / y) = ln x - ln y.
Proof. intros x y Hx Hy. unfold Rdiv. rewrite ln_mult, ln_Rinv; auto with real. Qed.
(* One outcome's part of Gibbs' inequality. *)
Lemma gibbs_term : forall q p, 0 <= q -> 0 <= p -> (0 < q -> 0 < p) ->
  q - p <= q * (ln q - ln p) /\ (q * (ln q - ln p) = q - p -> q = p).
Proof.
  intros q p Hq Hp C. destruct Hq as [Hq|<-]; [|split; lra]. specialize (C Hq).
  assert (Q : 0 < p / q) by (apply Rdiv_lt_0_compat; lra). assert (E : q * (p / q - 1) = p - q) by (field; lra).
  split.
  - assert (B := ln_below _ Q). rewrite ln_quotient in B by lra. nra.
  - intro K. destruct (Req_dec q p) as [|N]; auto. exfalso.
    assert (M : p / q <> 1). { intro M. apply N. apply (f_equal (Rmult q)) in M. field_simplify in M; lra. }
    assert (B := ln_strictly_below _ Q M). rewrite ln_quotient in B by lra. nra.
Qed.
Theorem gibbs {Y} : forall (ys : list Y) q p, law ys q -> law ys p -> covers ys p q ->
  (sum ys (fun y => q y * ln (p y)) <= sum ys (fun y => q y * ln (q y))) /\
  (sum ys (fun y => q y * ln (q y)) = sum ys (fun y => q y * ln (p y)) <-> forall y, In y ys -> q y = p y).
Proof.
  intros ys q p [Wq Sq] [Wp Sp] C. set (gap := fun y => q y * (ln (q y) - ln (p y)) - (q y - p y)).
  assert (G : weights ys gap).
  { intros y I. unfold gap. destruct (gibbs_term (q y) (p y) (Wq y I) (Wp y I) (C y I)) as [T _]. lra. }
  assert (S : sum ys gap = sum ys (fun y => q y * ln (q y)) - sum ys (fun y => q y * ln (p y))).
  { unfold gap. rewrite sum_minus, (sum_minus ys q p), Sq, Sp.
    rewrite (sum_ext ys _ (fun y => q y * ln (q y) - q y * ln (p y))) by (intros; ring). rewrite sum_minus. lra. }
  assert (N := sum_nonneg ys gap G). split; [lra|]. split.
  - intros E y I. assert (Z := sum_zero_each ys gap G ltac:(lra) y I). unfold gap in Z.
    destruct (gibbs_term (q y) (p y) (Wq y I) (Wp y I) (C y I)) as [_ T]. apply T. lra.
  - intro E. apply sum_ext. intros y I. rewrite (E y I). reflexivity.
Qed.

Corollary kl_nonneg {Y} : forall (ys : list Y) q p, law ys q -> law ys p -> covers ys p q ->
  0 <= kl ys q p /\ (kl ys q p = 0 <-> forall y, In y ys -> q y = p y).
Proof.
  intros ys q p Lq Lp C. destruct (gibbs ys q p Lq Lp C) as [G E].
  assert (K : kl ys q p = sum ys (fun y => q y * ln (q y)) - sum ys (fun y => q y * ln (p y))).
  { unfold kl. rewrite <- sum_minus. apply sum_ext. intros; ring. }
  rewrite K. split; [lra|]. rewrite <- E. split; lra.
Qed.

(* Slopes, and functions whose second derivative is not negative. *)
Lemma mean_value : forall f f1 v w, v < w -> (forall x, v <= x <= w -> is_derive f x (f1 x)) ->
  exists c, f w - f v = f1 c * (w - v) /\ v < c < w.
Proof. intros f f1 v w L D. apply MVT_cor2; [exact L|]. intros c H. apply is_derive_Reals, D, H. Qed.
Theorem rising : forall f f1 v w, v <= w -> (forall x, v <= x <= w -> is_derive f x (f1 x)) ->
  (forall x, v <= x <= w -> 0 <= f1 x) ->
  f v <= f w /\ ((forall x, v <= x <= w -> f1 x = 0) -> f v = f w).
Proof.
  intros f f1 v w [L| <-] D P; [|split; lra]. destruct (mean_value f f1 v w L D) as (c & E & I). split.
  - assert (0 <= f1 c) by (apply P; lra). nra.
  - intro Z. rewrite Z in E by lra. lra.
Qed.

(* On the positive numbers, f has the derivative f1, and that the derivative f2, which is not negative. *)
Definition curved (f f1 f2 : R -> R) : Prop :=
  forall x, 0 < x -> is_derive f x (f1 x) /\ is_derive f1 x (f2 x) /\ 0 <= f2 x.
(* f lies above the lines of these slopes that touch it. *)
Definition above_tangents (f slope : R -> R) : Prop :=
  forall v w, 0 < v -> 0 < w -> f w + slope w * (v - w) <= f v.

Theorem tangent : forall f f1 f2 v w, curved f f1 f2 -> 0 < v -> 0 < w ->
  f w + f1 w * (v - w) <= f v /\
  ((forall x, 0 < x -> 0 < f2 x) -> v <> w -> f w + f1 w * (v - w) < f v).
Proof.
  intros f f1 f2 v w K Hv Hw. destruct (Rtotal_order v w) as [L|[->|L]]; [|split; lra|].
  - destruct (mean_value f f1 v w L) as (c & E & I); [intros; apply K; lra|].
    destruct (mean_value f1 f2 c w) as (d & F & J); [lra|intros; apply K; lra|].
    assert (P : 0 <= f2 d) by (apply K; lra). split.
    + assert (0 <= f2 d * (w - c)) by (apply Rmult_le_pos; lra). nra.
    + intros S _. assert (0 < f2 d * (w - c)) by (apply Rmult_lt_0_compat; [apply S|]; lra). nra.
  - destruct (mean_value f f1 w v L) as (c & E & I); [intros; apply K; lra|].
    destruct (mean_value f1 f2 w c) as (d & F & J); [lra|intros; apply K; lra|].
    assert (P : 0 <= f2 d) by (apply K; lra). split.
    + assert (0 <= f2 d * (c - w)) by (apply Rmult_le_pos; lra). nra.
    + intros S _. assert (0 < f2 d * (c - w)) by (apply Rmult_lt_0_compat; [apply S|]; lra). nra.
Qed.
Theorem cauchy {Y} : forall (ys : list Y) w a b, weights ys w ->
  Rsqr (sum ys (fun y => w y * a y * b y)) <=
  sum ys (fun y => w y * Rsqr (a y)) * sum ys (fun y => w y * Rsqr (b y)).
Proof.
  unfold Rsqr. induction ys as [|y ys IH]; intros w a b W; simpl; [lra|].
  assert (Wy : 0 <= w y) by (apply W; simpl; auto). assert (W' : weights ys w) by (intros z Hz; apply W; simpl; auto).
  specialize (IH w a b W'). assert (PA : 0 <= sum ys (fun y => w y * (a y * a y))).
  { apply sum_nonneg. intros z Hz. specialize (W' z Hz). simpl. nra. }
  assert (PB : 0 <= sum ys (fun y => w y * (b y * b y))).
  { apply sum_nonneg. intros z Hz. specialize (W' z Hz). simpl. nra. }
  set (A := sum ys (fun y => w y * (a y * a y))) in *. set (B := sum ys (fun y => w y * (b y * b y))) in *.
  set (C := sum ys (fun y => w y * a y * b y)) in *.
  (* 2 C a b <= A b^2 + B a^2, since (A b^2 + B a^2)^2 >= 4 A B a^2 b^2 >= (2 C a b)^2. *)
  assert (M : 2 * C * a y * b y <= A * (b y * b y) + B * (a y * a y)).
  { apply Rsqr_incr_0_var; [|nra]. unfold Rsqr. assert (P1 := Rle_0_sqr (A * (b y * b y) - B * (a y * a y))).
    assert (P2 : 0 <= (A * B - C * C) * Rsqr (a y * b y)) by (apply Rmult_le_pos; [lra|apply Rle_0_sqr]).
    unfold Rsqr in *. lra. }
  apply (Rmult_le_compat_l (w y)) in M; lra.
Qed.
Theorem binomial_theorem : forall a b n,
  sum (seq 0 (S n)) (fun k => Binomial.C n k * a ^ k * b ^ (n - k)) = (a + b) ^ n.
Proof.
  assert (F : forall n (g : nat -> R), sum (seq 0 (S n)) g = sum_f_R0 g n).
  { induction n as [|n IH]; intro g; [simpl; lra|]. rewrite seq_S, tech5, <- IH. rewrite sum_app. simpl. lra. }
  intros a b n. rewrite F, binomial. reflexivity.
Qed.
