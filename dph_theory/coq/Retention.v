(* Which advantage retains strategies that prompts share: weights as Bernstein polynomials, their symmetry and
   where they fall, the objectives that are concave there, and the ends of disjoint strategies. *)
Require Import Reals List Lra Lia Arith. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Groups Motion Extremes Strategies.
Import ListNotations. Open Scope R_scope.

Fixpoint bernstein (n : nat) (g : nat -> R) (V : R) : R :=
  match n with O => g 0%nat | S m => (1 - V) * bernstein m g V + V * bernstein m (fun k => g (S k)) V end.
Definition gain (advantage : nat -> R -> nat -> R) (G k : nat) : R := advantage G 1 (S k) - advantage G 0 k.
Lemma choose_none : forall n, Binomial.C n 0 = 1.
Proof. intro n. unfold Binomial.C. rewrite Nat.sub_0_r. simpl (fact 0). assert (F := INR_fact_neq_0 n). simpl (INR 1). field. exact F. Qed.
Lemma choose_all : forall n, Binomial.C n n = 1.
Proof. intro n. unfold Binomial.C. rewrite Nat.sub_diag. simpl (fact 0). assert (F := INR_fact_neq_0 n). simpl (INR 1). field. exact F. Qed.
Lemma sum_last : forall n f, sum (seq 0 (S n)) f = sum (seq 0 n) f + f n.
Proof. intros n f. rewrite seq_S, sum_app. simpl. ring. Qed.
Lemma bernstein_sum : forall n g V,
  sum (seq 0 (S n)) (fun k => Binomial.C n k * V ^ k * (1 - V) ^ (n - k) * g k) = bernstein n g V.
Proof.
  induction n as [|n IH]; intros g V; [simpl; rewrite choose_none; ring|]. cbn [bernstein]. rewrite <- !IH.
  rewrite (sum_shift (S n)), (sum_last n), (sum_shift n (fun k => _ * g k)), (sum_last n (fun k => _ * g (S k))).
  rewrite !choose_none, !choose_all, !Nat.sub_diag, !Nat.sub_0_r, !Rmult_plus_distr_l, <- !sum_scale.
  rewrite (sum_ext (seq 0 n) _ (fun k => (1 - V) * (Binomial.C n (S k) * V ^ S k * (1 - V) ^ (n - S k) * g (S k))
    + V * (Binomial.C n k * V ^ k * (1 - V) ^ (n - k) * g (S k)))).
  - rewrite sum_plus. simpl (V ^ 0). change ((1 - V) ^ S n) with ((1 - V) * (1 - V) ^ n). change (V ^ S n) with (V * V ^ n).
    simpl ((1 - V) ^ 0). ring.
  - intros k I. apply in_seq in I. rewrite <- pascal by lia. replace (S n - S k)%nat with (n - k)%nat by lia.
    replace (n - k)%nat with (S (n - S k)) by lia. simpl. ring.
Qed.
Lemma bernstein_ext : forall n g h V, (forall k, (k <= n)%nat -> g k = h k) -> bernstein n g V = bernstein n h V.
Proof.
  induction n as [|n IH]; intros g h V E; simpl; [apply E; lia|]. rewrite (IH g h V), (IH (fun k => g (S k)) (fun k => h (S k)) V); auto.
  intros k L. apply E. lia.
Qed.
Lemma bernstein_back : forall n g V, bernstein n (fun k => g (n - k)%nat) (1 - V) = bernstein n g V.
Proof.
  induction n as [|n IH]; intros g V; [reflexivity|]. cbn [bernstein]. replace (1 - (1 - V)) with V by ring.
  rewrite (bernstein_ext n (fun k => g (S n - k)%nat) (fun k => g (S (n - k))) (1 - V)) by (intros k L; f_equal; lia).
  rewrite (IH (fun k => g (S k))). simpl (fun k => g (S n - S k)%nat). rewrite IH. ring.
Qed.
Lemma bernstein_minus : forall n g h V, bernstein n (fun k => g k - h k) V = bernstein n g V - bernstein n h V.
Proof. induction n as [|n IH]; intros g h V; simpl; [reflexivity|]. rewrite IH, (IH (fun k => g (S k))). ring. Qed.
Lemma bernstein_opp : forall n g V, bernstein n (fun k => - g k) V = - bernstein n g V.
Proof. induction n as [|n IH]; intros g V; simpl; [reflexivity|]. rewrite IH, (IH (fun k => g (S k))). ring. Qed.
Lemma bernstein_positive : forall n g V, 0 <= V <= 1 -> (forall k, (k <= n)%nat -> 0 < g k) -> 0 < bernstein n g V.
Proof.
  induction n as [|n IH]; intros g V H P; simpl; [apply P; lia|].
  assert (A := IH g V H ltac:(intros; apply P; lia)). assert (B := IH (fun k => g (S k)) V H ltac:(intros; apply P; lia)).
  set (a := bernstein n g V) in *. set (b := bernstein n _ V) in *. destruct (Rle_or_lt V (1 / 2)); nra.
Qed.
Lemma bernstein_ends : forall n g, bernstein n g 0 = g 0%nat /\ bernstein n g 1 = g n.
Proof.
  induction n as [|n IH]; intro g; simpl; [auto|]. destruct (IH g) as [A _]. destruct (IH (fun k => g (S k))) as [_ B].
  rewrite A, B. split; ring.
Qed.
Lemma bernstein_slope : forall n g V,
  is_derive (bernstein (S n) g) V (INR (S n) * bernstein n (fun k => g (S k) - g k) V).
Proof.
  induction n as [|n IH]; intros g V; [simpl; auto_derive; [auto|ring]|].
  assert (A := IH g V). assert (B := IH (fun k => g (S k)) V). set (f := bernstein (S n) g) in *. set (h := bernstein (S n) (fun k => g (S k))) in *.
  apply (is_derive_ext (fun W => (1 - W) * f W + W * h W)); [intro W; reflexivity|].
  auto_derive; [split; [eexists; exact A|split; [eexists; exact B|auto]]|].
  change (Derive (fun x => f x) V) with (Derive f V). change (Derive (fun x => h x) V) with (Derive h V).
  rewrite (is_derive_unique _ _ _ A), (is_derive_unique _ _ _ B), (S_INR (S n)).
  change (bernstein (S n) (fun k => g (S k) - g k) V) with ((1 - V) * bernstein n (fun k => g (S k) - g k) V + V * bernstein n (fun k => g (S (S k)) - g (S k)) V).
  assert (D : h V - f V = (1 - V) * bernstein n (fun k => g (S k) - g k) V + V * bernstein n (fun k => g (S (S k)) - g (S k)) V).
  { unfold h, f. rewrite <- bernstein_minus. reflexivity. }
  assert (E : forall v x y a b m : R, b - a = (1 - v) * x + v * y ->
    - (1) * a + (1 + - v) * (1 * (m * x)) + (1 * b + v * (1 * (m * y))) = (m + 1) * ((1 - v) * x + v * y)).
  { intros v x y a b m F. replace b with (a + ((1 - v) * x + v * y)) by lra. ring. }
  apply E, D.
Qed.
Lemma weight_bernstein : forall advantage n V, weight advantage (S n) V = bernstein n (gain advantage (S n)) V.
Proof. intros adv n V. rewrite <- bernstein_sum. unfold weight, gain. replace (S n - 1)%nat with n by lia. reflexivity. Qed.

(* The deviation's advantages of correct answers, and of incorrect ones. *)
Lemma deviation_right : forall G j, (0 < j <= G)%nat -> by_deviation G 1 j =
  sqrt (INR G * INR (G - 1)) / INR G * (sqrt (INR j * INR (G - j)) / INR j).
Proof.
  intros G j L. unfold by_deviation. rewrite (proj2 (Nat.eqb_neq j 0)) by lia. cbn [orb]. destruct (Nat.eqb j G) eqn:E.
  - apply Nat.eqb_eq in E. subst. rewrite Nat.sub_diag. simpl (INR 0). rewrite Rmult_0_r, sqrt_0. unfold Rdiv. ring.
  - apply Nat.eqb_neq in E. assert (J := lt_0_INR j ltac:(lia)). assert (M := lt_0_INR (G - j) ltac:(lia)).
    assert (PG := lt_0_INR G ltac:(lia)). assert (P1 := lt_0_INR (G - 1) ltac:(lia)).
    assert (EM : INR (G - j) = INR G - INR j) by (apply minus_INR; lia).
    assert (Q : 0 < INR j * INR (G - j)) by (apply Rmult_lt_0_compat; lra).
    assert (Q1 : 0 < INR G * INR (G - 1)) by (apply Rmult_lt_0_compat; lra).
    rewrite sqrt_div by lra. assert (A := sqrt_lt_R0 _ Q). assert (B := sqrt_lt_R0 _ Q1). assert (S := sqrt_sqrt _ (Rlt_le _ _ Q)).
    set (s := sqrt (INR j * INR (G - j))) in *. set (b := sqrt (INR G * INR (G - 1))) in *.
    replace (s / INR j) with (INR (G - j) / s) by (apply Rmult_eq_reg_r with (s * INR j); [|nra]; field_simplify; [|lra|lra]; nra).
    rewrite EM. field. lra.
Qed.
Lemma deviation_back : forall G j, (j <= G)%nat -> by_deviation G 0 (G - j) = - by_deviation G 1 j.
Proof.
  intros G j L. unfold by_deviation. replace (G - (G - j))%nat with j by lia.
  replace (Nat.eqb (G - j) 0) with (Nat.eqb j G) by (destruct (Nat.eqb_spec j G), (Nat.eqb_spec (G - j) 0); auto; lia).
  replace (Nat.eqb (G - j) G) with (Nat.eqb j 0) by (destruct (Nat.eqb_spec j 0), (Nat.eqb_spec (G - j) G); auto; lia).
  rewrite Bool.orb_comm. destruct (orb (Nat.eqb j 0) (Nat.eqb j G)) eqn:E; [ring|]. apply Bool.orb_false_iff in E. destruct E as [A B].
  apply Nat.eqb_neq in A. apply Nat.eqb_neq in B. rewrite minus_INR by lia. rewrite (Rmult_comm (INR G - INR j)).
  assert (P := lt_0_INR G ltac:(lia)). unfold Rdiv. set (i := / sqrt _). field. lra.
Qed.
Lemma gain_back : forall n k, (k <= n)%nat -> gain by_deviation (S n) (n - k) = gain by_deviation (S n) k.
Proof.
  intros n k L. unfold gain. assert (A := deviation_back (S n) (S k) ltac:(lia)). assert (B := deviation_back (S n) (S n - k) ltac:(lia)).
  replace (S n - S k)%nat with (n - k)%nat in A by lia. replace (S n - (S n - k))%nat with k in B by lia.
  replace (S (n - k)) with (S n - k)%nat by lia. lra.
Qed.
Theorem symmetric : forall V G, (2 <= G)%nat -> weight by_deviation G V = weight by_deviation G (1 - V).
Proof.
  intros V [|n] L; [lia|]. rewrite !weight_bernstein, <- (bernstein_back n _ V). apply bernstein_ext. intros k K. apply gain_back, K.
Qed.
Lemma roots : forall j m s p q, 1 <= j -> j + 1 <= m -> 0 < s -> 0 < p -> 0 <= q -> s * s = j * m -> p * p = (j + 1) * (m - 1) ->
  q * q = (j - 1) * (m + 1) -> p / (j + 1) - s / j + (s / m - q / (m + 1)) <= 0.
Proof.
  intros j m s p q J M S P Q ES EP EQ. assert (A : j * (j + 1) <= s * p).
  { apply Rsqr_incr_0_var; [|nra]. unfold Rsqr. replace (s * p * (s * p)) with ((s * s) * (p * p)) by ring. rewrite ES, EP.
    replace (j * m * ((j + 1) * (m - 1))) with (j * (j + 1) * (m * (m - 1))) by ring. apply Rmult_le_compat_l; nra. }
  assert (B : 2 * j <= (s + q) * (p + q)) by nra.
  assert (C : j * (p - q) <= (m - j) * (s + q)).
  { apply Rmult_le_reg_r with (p + q); [lra|]. replace (j * (p - q) * (p + q)) with (j * (p * p - q * q)) by ring. rewrite EP, EQ.
    replace (j * ((j + 1) * (m - 1) - (j - 1) * (m + 1))) with ((m - j) * (2 * j)) by ring. rewrite Rmult_assoc. apply Rmult_le_compat_l; lra. }
  assert (X : (s / j - p / (j + 1)) * ((j + 1) * s + j * p) = m + j).
  { transitivity ((s * s) * (j + 1) / j - j * (p * p) / (j + 1)); [field; lra|]. rewrite ES, EP. field. lra. }
  assert (Y : (s / m - q / (m + 1)) * ((m + 1) * s + m * q) = m + j).
  { transitivity ((s * s) * (m + 1) / m - m * (q * q) / (m + 1)); [field; lra|]. rewrite ES, EQ. field. lra. }
  set (a := s / j - p / (j + 1)) in *. set (b := s / m - q / (m + 1)) in *. assert (K : b <= a); [|unfold a in *; lra].
  assert (0 < (j + 1) * s + j * p) by nra. assert ((j + 1) * s + j * p <= (m + 1) * s + m * q) by nra.
  apply Rmult_le_reg_r with ((m + 1) * s + m * q); [lra|]. rewrite Y, <- X. apply Rmult_le_compat_l; [|lra].
  apply Rmult_le_reg_r with ((j + 1) * s + j * p); [lra|]. rewrite X. lra.
Qed.
Lemma gain_falls : forall M k, (2 * k <= M)%nat -> gain by_deviation (S (S M)) (S k) - gain by_deviation (S (S M)) k <= 0.
Proof.
  intros M k L. destruct (Nat.eq_dec (2 * k) M) as [E|N].
  - assert (B := gain_back (S M) k ltac:(lia)). replace (S M - k)%nat with (S k) in B by lia. lra.
  - set (G := S (S M)). unfold gain. assert (B1 := deviation_back G (G - k) ltac:(lia)). assert (B2 := deviation_back G (G - S k) ltac:(lia)).
    replace (G - (G - k))%nat with k in B1 by lia. replace (G - (G - S k))%nat with (S k) in B2 by lia. rewrite B1, B2, !deviation_right by lia.
    replace (G - (G - k))%nat with k by lia. replace (G - (G - S k))%nat with (S k) by lia.
    set (c := sqrt (INR G * INR (G - 1)) / INR G). assert (PG := lt_0_INR G ltac:(lia)).
    assert (PC : 0 <= c) by (apply Rmult_le_pos; [apply sqrt_pos|apply Rlt_le, Rinv_0_lt_compat, PG]).
    assert (EJ : INR (S (S k)) = INR (S k) + 1) by apply S_INR. assert (EK : INR (S k) = INR k + 1) by apply S_INR.
    assert (EM : INR (G - k) = INR (G - S k) + 1) by (replace (G - k)%nat with (S (G - S k)) by lia; apply S_INR).
    assert (EN : INR (G - S (S k)) = INR (G - S k) - 1) by (replace (G - S k)%nat with (S (G - S (S k))) by lia; rewrite S_INR; ring).
    assert (K0 := pos_INR k). assert (D : INR (S k) + 1 <= INR (G - S k)) by (rewrite <- S_INR; apply le_INR; lia).
    set (j := INR (S k)) in *. set (m := INR (G - S k)) in *. rewrite EJ, EN, EM. replace (INR k) with (j - 1) by lra.
    rewrite (Rmult_comm m j), (Rmult_comm (m + 1)).
    assert (R := roots j m (sqrt (j * m)) (sqrt ((j + 1) * (m - 1))) (sqrt ((j - 1) * (m + 1))) ltac:(lra) D
      ltac:(apply sqrt_lt_R0; nra) ltac:(apply sqrt_lt_R0; nra) ltac:(apply sqrt_pos) ltac:(apply sqrt_sqrt; nra)
      ltac:(apply sqrt_sqrt; nra) ltac:(apply sqrt_sqrt; nra)). nra.
Qed.
Lemma bernstein_half : forall M d V, (forall k, (k <= M)%nat -> d (M - k)%nat = - d k) -> (forall k, (2 * k <= M)%nat -> d k <= 0) ->
  0 <= V <= 1 / 2 -> bernstein M d V <= 0.
Proof.
  intros M d V A F H. assert (E : bernstein M d (1 - V) = - bernstein M d V).
  { rewrite <- (bernstein_back M d V), <- bernstein_opp. apply bernstein_ext. intros k L. rewrite A by exact L. ring. }
  assert (N : bernstein M d V - bernstein M d (1 - V) <= 0); [|lra]. rewrite <- !bernstein_sum, <- sum_minus.
  rewrite <- (sum_zero (seq 0 (S M)) (fun _ => 0)) by auto. apply sum_le. intros k I. apply in_seq in I. replace (1 - (1 - V)) with V by ring.
  assert (C : 0 < Binomial.C M k).
  { unfold Binomial.C. apply Rdiv_lt_0_compat; [|apply Rmult_lt_0_compat]; apply lt_0_INR, lt_O_fact. }
  assert (P : forall a b, (a <= b)%nat -> V ^ b * (1 - V) ^ a <= V ^ a * (1 - V) ^ b).
  { intros a b L. replace b with (a + (b - a))%nat by lia. rewrite !pow_add.
    assert (0 <= V ^ a * (1 - V) ^ a) by (apply Rmult_le_pos; apply pow_le; lra).
    assert (Q := pow_incr V (1 - V) (b - a) ltac:(lra)). set (x := V ^ (b - a)) in *. set (y := (1 - V) ^ (b - a)) in *. nra. }
  destruct (le_gt_dec (2 * k) M) as [L|L].
  - specialize (F k L). specialize (P k (M - k)%nat ltac:(lia)). set (x := V ^ k * (1 - V) ^ (M - k)) in *. set (y := V ^ (M - k) * (1 - V) ^ k) in *.
    replace (Binomial.C M k * V ^ k * (1 - V) ^ (M - k) * d k - Binomial.C M k * (1 - V) ^ k * V ^ (M - k) * d k) with (Binomial.C M k * ((x - y) * d k)) by (unfold x, y; ring). assert ((x - y) * d k <= 0) by nra. nra.
  - assert (D : 0 <= d k). { assert (X := F (M - k)%nat ltac:(lia)). rewrite A in X by lia. lra. }
    specialize (P (M - k)%nat k ltac:(lia)). set (x := V ^ k * (1 - V) ^ (M - k)) in *. set (y := V ^ (M - k) * (1 - V) ^ k) in *.
    replace (Binomial.C M k * V ^ k * (1 - V) ^ (M - k) * d k - Binomial.C M k * (1 - V) ^ k * V ^ (M - k) * d k) with (Binomial.C M k * ((x - y) * d k)) by (unfold x, y; ring). assert ((x - y) * d k <= 0) by nra. nra.
Qed.
(* The std's weight falls up to one half, for groups of every size. *)
Theorem falls_to_half : forall G V W, (2 <= G)%nat -> 0 <= V <= W -> W <= 1 / 2 -> weight by_deviation G W <= weight by_deviation G V.
Proof.
  intros [|[|M]] V W L H U; try lia. rewrite !weight_bernstein. set (g := gain by_deviation (S (S M))).
  destruct (rising (fun x => - bernstein (S M) g x) (fun x => - (INR (S M) * bernstein M (fun k => g (S k) - g k) x)) V W) as [R _]; [lra| | |lra].
  - intros x _. apply (is_derive_opp (bernstein (S M) g)), bernstein_slope.
  - intros x X. assert (B : bernstein M (fun k => g (S k) - g k) x <= 0).
    { apply bernstein_half; [|apply gain_falls|lra]. intros k K. unfold g. assert (A := gain_back (S M) k ltac:(lia)).
      assert (B := gain_back (S M) (S k) ltac:(lia)). replace (S (M - k)) with (S M - k)%nat by lia. replace (M - k)%nat with (S M - S k)%nat by lia. lra. }
    assert (P := pos_INR (S M)). nra.
Qed.
Theorem rises_from_half : forall G V W, (2 <= G)%nat -> 1 / 2 <= V <= W -> W <= 1 -> weight by_deviation G V <= weight by_deviation G W.
Proof. intros G V W L H U. rewrite (symmetric V), (symmetric W) by exact L. apply falls_to_half; [exact L|lra|lra]. Qed.
(* The objective of a weight: J_G, whose slope alpha_G is; that of MaxRL is a sum of pass@k / k. *)
Definition objective (advantage : nat -> R -> nat -> R) (G : nat) (V : R) : R :=
  sum (seq 0 (S G)) (fun k => Binomial.C G k * V ^ k * (1 - V) ^ (G - k) * sum (seq 0 k) (gain advantage G)) / INR G.
Lemma objective_slope : forall advantage G V, (1 <= G)%nat -> is_derive (objective advantage G) V (weight advantage G V).
Proof.
  intros adv [|n] V L; [lia|]. set (total := fun k => sum (seq 0 k) (gain adv (S n))). assert (P := lt_0_INR (S n) ltac:(lia)).
  apply (is_derive_ext (fun W => / INR (S n) * bernstein (S n) total W)).
  { intro W. rewrite <- bernstein_sum. unfold objective, Rdiv. rewrite Rmult_comm. reflexivity. }
  replace (weight adv (S n) V) with (/ INR (S n) * (INR (S n) * bernstein n (fun k => total (S k) - total k) V)).
  - apply (is_derive_scal (bernstein (S n) total)), bernstein_slope.
  - rewrite weight_bernstein, <- Rmult_assoc, Rinv_l, Rmult_1_l by lra. apply bernstein_ext. intros k _. unfold total. rewrite sum_last. ring.
Qed.
Definition passes (G : nat) (V : R) : R := sum (seq 1 (G - 1)) (fun k => (1 - (1 - V) ^ k) / INR k).
Lemma mean_weight : forall V G, (2 <= G)%nat -> weight by_mean G V = sum (seq 1 (G - 1)) (fun k => (1 - V) ^ (k - 1)).
Proof.
  intros V G L. destruct (Req_dec V 0) as [->|N].
  - destruct G as [|n]; [lia|]. rewrite weight_bernstein, (proj1 (bernstein_ends n _)). unfold gain, by_mean. simpl (Nat.eqb _ _). cbv iota.
    rewrite (sum_ext _ _ (fun _ => 1)) by (intros; rewrite Rminus_0_r; apply pow1).
    assert (E : forall m a, sum (seq a m) (fun _ => 1) = INR m).
    { induction m as [|m IH]; intro a; [reflexivity|]. rewrite S_INR. simpl. rewrite IH. ring. }
    rewrite E. assert (P := lt_0_INR (S n) ltac:(lia)). replace (S n - 1)%nat with n by lia. assert (EG := S_INR n). rewrite EG in *. simpl (INR 1). field. lra.
  - apply Rmult_eq_reg_l with V; [|exact N]. destruct (slope_of_passes V G ltac:(lia)) as (A & _ & B). rewrite A, B. reflexivity.
Qed.
Lemma mean_falls : forall G V W, (2 <= G)%nat -> 0 <= V <= W -> W <= 1 -> weight by_mean G W <= weight by_mean G V.
Proof. intros G V W L H U. rewrite !mean_weight by exact L. apply sum_le. intros k _. apply pow_incr. lra. Qed.
Lemma passes_slope : forall G V, (2 <= G)%nat -> is_derive (passes G) V (weight by_mean G V).
Proof. intros G V L. rewrite mean_weight by exact L. apply (slope_of_passes V G). lia. Qed.
Lemma below_tangent : forall J a top v w, (forall x, 0 <= x <= top -> is_derive J x (a x)) ->
  (forall x y, 0 <= x <= y -> y <= top -> a y <= a x) -> 0 <= v <= top -> 0 <= w <= top -> J v <= J w + a w * (v - w).
Proof.
  intros J a top v w D F Hv Hw. destruct (Rtotal_order v w) as [L|[->|L]]; [|lra|].
  - destruct (mean_value J a v w L) as (c & E & I); [intros; apply D; lra|]. assert (Q := F c w ltac:(lra) ltac:(lra)). nra.
  - destruct (mean_value J a w v L) as (c & E & I); [intros; apply D; lra|]. assert (Q := F w c ltac:(lra) ltac:(lra)). nra.
Qed.
Section Shared.
Context {S T : Type} (ss : list S) (ts : list T) (rho : T -> R) (c : T -> S -> R).
Definition shared (J : R -> R) (q : S -> R) : R := sum ts (fun t => rho t * J (solves ss c q t)).
Definition halfway (p q : S -> R) (s : S) : R := (p s + q s) / 2.
Lemma concave : forall J a top p q, (forall x, 0 <= x <= top -> is_derive J x (a x)) ->
  (forall x y, 0 <= x <= y -> y <= top -> a y <= a x) -> weights ts rho ->
  (forall t, In t ts -> 0 <= solves ss c p t <= top) -> (forall t, In t ts -> 0 <= solves ss c q t <= top) ->
  (shared J p + shared J q) / 2 <= shared J (halfway p q).
Proof.
  intros J a top p q D F W P Q. unfold shared. apply Rmult_le_reg_l with 2; [lra|]. rewrite <- sum_scale.
  replace (2 * ((sum ts (fun t => rho t * J (solves ss c p t)) + sum ts (fun t => rho t * J (solves ss c q t))) / 2))
    with (sum ts (fun t => rho t * J (solves ss c p t)) + sum ts (fun t => rho t * J (solves ss c q t))) by field.
  rewrite <- sum_plus. apply sum_le. intros t I. specialize (P t I). specialize (Q t I). specialize (W t I).
  assert (E : solves ss c (halfway p q) t = (solves ss c p t + solves ss c q t) / 2).
  { unfold solves, Rdiv. rewrite Rmult_comm, <- sum_plus, <- sum_scale. apply sum_ext. intros s _. unfold halfway. field. }
  set (m := solves ss c (halfway p q) t) in *. set (v := solves ss c p t) in *. set (w := solves ss c q t) in *.
  assert (A := below_tangent J a top v m D F P ltac:(lra)). assert (B := below_tangent J a top w m D F Q ltac:(lra)).
  assert (Z : a m * (v - m) + a m * (w - m) = 0) by (rewrite <- Rmult_plus_distr_l; replace (v - m + (w - m)) with 0 by lra; ring).
  rewrite <- Rmult_plus_distr_l. replace (2 * (rho t * J m)) with (rho t * (2 * J m)) by ring. apply Rmult_le_compat_l; lra.
Qed.
Theorem concave_everywhere : forall G p q, (2 <= G)%nat -> law ss p -> law ss q -> weights ts rho -> chances ss ts c ->
  (shared (passes G) p + shared (passes G) q) / 2 <= shared (passes G) (halfway p q).
Proof.
  intros G p q L P Q W C. apply concave with (weight by_mean G) 1; auto.
  - intros x _. apply passes_slope, L.
  - intros x y H U. apply mean_falls; auto.
  - intros t I. apply (solves_bounds ss ts c); auto.
  - intros t I. apply (solves_bounds ss ts c); auto.
Qed.
Theorem concave_below_half : forall G p q, (2 <= G)%nat -> law ss p -> law ss q -> weights ts rho -> chances ss ts c ->
  (forall t, In t ts -> solves ss c p t <= 1 / 2) -> (forall t, In t ts -> solves ss c q t <= 1 / 2) ->
  (shared (objective by_deviation G) p + shared (objective by_deviation G) q) / 2 <= shared (objective by_deviation G) (halfway p q).
Proof.
  intros G p q L P Q W C HP HQ. apply concave with (weight by_deviation G) (1 / 2); auto.
  - intros x _. apply objective_slope. lia.
  - intros x y H U. apply falls_to_half; auto.
  - intros t I. split; [apply (solves_bounds ss ts c); auto|auto].
  - intros t I. split; [apply (solves_bounds ss ts c); auto|auto].
Qed.
End Shared.
Section Disjoint.
Context {S : Type} (ss : list S) (rho : S -> R).
(* Strategies that share no prompt: V_s = q_s. What merits times weights say of shares that are a maximum. *)
Definition level (a : R -> R) (q : S -> R) (height : R) : Prop :=
  forall s, In s ss -> rho s * a (q s) <= height /\ (0 < q s -> rho s * a (q s) = height).
Lemma water : forall J a top p q height, (forall x, 0 <= x <= top -> is_derive J x (a x)) ->
  (forall x y, 0 <= x <= y -> y <= top -> a y <= a x) -> law ss p -> law ss q -> weights ss rho ->
  (forall s, In s ss -> p s <= top) -> (forall s, In s ss -> q s <= top) -> level a q height ->
  sum ss (fun s => rho s * J (p s)) <= sum ss (fun s => rho s * J (q s)).
Proof.
  intros J a top p q h D F [Wp Sp] [Wq Sq] W P Q K.
  apply Rle_trans with (sum ss (fun s => rho s * J (q s) + (h * p s - h * q s))).
  - apply sum_le. intros s I. assert (B := below_tangent J a top (p s) (q s) D F (conj (Wp s I) (P s I)) (conj (Wq s I) (Q s I))).
    destruct (K s I) as [U E]. specialize (W s I). specialize (Wp s I). destruct (Wq s I) as [L|Z].
    + specialize (E L). apply (Rmult_le_compat_l (rho s)) in B; [|exact W]. replace (h * p s - h * q s) with (h * (p s - q s)) by ring. rewrite <- E. lra.
    + rewrite <- Z in *. apply (Rmult_le_compat_l (rho s)) in B; [|exact W]. nra.
  - rewrite sum_plus, sum_minus, !sum_scale, Sp, Sq. lra.
Qed.
Theorem maxrl_water : forall G p q height, (2 <= G)%nat -> law ss p -> law ss q -> weights ss rho -> level (weight by_mean G) q height ->
  sum ss (fun s => rho s * passes G (p s)) <= sum ss (fun s => rho s * passes G (q s)).
Proof.
  intros G p q h L P Q W K. assert (B : forall r, law ss r -> forall s, In s ss -> r s <= 1).
  { intros r [Wr Sr] s I. rewrite <- Sr. apply (term_le_sum ss r s Wr I). }
  apply water with (weight by_mean G) 1 h; auto; [intros x _; apply passes_slope, L|intros x y H U; apply mean_falls; auto].
Qed.
Theorem std_water : forall G p q height, (2 <= G)%nat -> law ss p -> law ss q -> weights ss rho -> level (weight by_deviation G) q height ->
  (forall s, In s ss -> p s <= 1 / 2) -> (forall s, In s ss -> q s <= 1 / 2) ->
  sum ss (fun s => rho s * objective by_deviation G (p s)) <= sum ss (fun s => rho s * objective by_deviation G (q s)).
Proof.
  intros G p q h L P Q W K U V. apply water with (weight by_deviation G) (1 / 2) h; auto.
  - intros x _. apply objective_slope. lia.
  - intros x y H H'. apply falls_to_half; auto.
Qed.
End Disjoint.
(* What moves the logits of two strategies that share no prompt, in shares q and 1 - q. *)
Definition first_drive (advantage : nat -> R -> nat -> R) (G : nat) (r s q : R) : R :=
  q * (r * weight advantage G q * (1 - q) + s * weight advantage G (1 - q) * (0 - (1 - q))).
Lemma deviation_gains : forall n k, (1 <= n)%nat -> (k <= n)%nat -> 0 < gain by_deviation (S n) k.
Proof.
  intros n k N L. assert (B := deviation_back (S n) (S n - k) ltac:(lia)). replace (S n - (S n - k))%nat with k in B by lia.
  assert (PG := lt_0_INR (S n) ltac:(lia)). assert (P1 := lt_0_INR (S n - 1) ltac:(lia)).
  assert (C : 0 < sqrt (INR (S n) * INR (S n - 1)) / INR (S n)) by (apply Rdiv_lt_0_compat; [apply sqrt_lt_R0; nra|exact PG]).
  unfold gain. rewrite B, !deviation_right by lia. replace (S n - (S n - k))%nat with k by lia. set (c := sqrt (INR (S n) * INR (S n - 1)) / INR (S n)) in *.
  assert (X : 0 < INR (S k)) by (apply lt_0_INR; lia). assert (Y : 0 < INR (S n - k)) by (apply lt_0_INR; lia).
  assert (A1 := sqrt_pos (INR (S k) * INR (S n - S k))). assert (A2 := sqrt_pos (INR (S n - k) * INR k)).
  assert (D : forall u v, 0 <= u -> 0 < v -> 0 <= u / v) by (intros; apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (H1 := D _ _ A1 X). assert (H2 := D _ _ A2 Y). assert (0 < sqrt (INR (S k) * INR (S n - S k)) / INR (S k) + sqrt (INR (S n - k) * INR k) / INR (S n - k)); [|nra].
  destruct k as [|k].
  - assert (0 < sqrt (INR 1 * INR (S n - 1)) / INR 1); [|lra]. apply Rdiv_lt_0_compat; [apply sqrt_lt_R0; simpl (INR 1); lra|simpl; lra].
  - assert (0 < sqrt (INR (S n - S k) * INR (S k)) / INR (S n - S k)); [|lra]. apply Rdiv_lt_0_compat; [apply sqrt_lt_R0|exact Y].
    apply Rmult_lt_0_compat; [exact Y|apply lt_0_INR; lia].
Qed.
Theorem two_apart : forall G r s q, (2 <= G)%nat -> 0 < q < 1 ->
  first_drive by_deviation G r s q / (q * (1 - q)) = (r - s) * weight by_deviation G q /\ 0 < weight by_deviation G q.
Proof.
  intros G r s q L Q. split.
  - unfold first_drive. rewrite <- symmetric by exact L. field. lra.
  - destruct G as [|n]; [lia|]. rewrite weight_bernstein. apply bernstein_positive; [lra|]. intros k K. apply deviation_gains; lia.
Qed.
(* What r gains, over its own mass e, beside s that has the rest, of prompts that r alone, s alone, both solve. *)
Definition undivided (G : nat) (v : R) (won : nat) : R := v - INR won / INR G.
Definition growth (advantage : nat -> R -> nat -> R) (G : nat) (r s both e : R) : R :=
  r * weight advantage G e * (1 - e) + s * weight advantage G (1 - e) * (0 - (1 - e)) + both * weight advantage G 1 * (1 - 1).
Lemma growth_at_the_end : forall advantage m r s both, let G := S (S m) in
  is_lim (growth advantage G r s both) 0 (r * gain advantage G 0 - s * gain advantage G (S m)).
Proof.
  intros adv m r s b G. assert (E : growth adv G r s b 0 = r * gain adv G 0 - s * gain adv G (S m)).
  { unfold growth, G. rewrite Rminus_0_r, !weight_bernstein, (proj1 (bernstein_ends _ _)), (proj2 (bernstein_ends _ _)). ring. }
  rewrite <- E. apply is_lim_continuity, continuity_pt_filterlim.
  assert (D : forall V, ex_derive (weight adv G) V).
  { intro V. exists (INR (S m) * bernstein m (fun k => gain adv G (S k) - gain adv G k) V).
    apply (is_derive_ext (bernstein (S m) (gain adv G))); [intro; unfold G; rewrite weight_bernstein; reflexivity|apply bernstein_slope]. }
  apply (ex_derive_continuous (growth adv G r s b)). unfold growth. auto_derive. repeat split; auto.
Qed.
Theorem rare_beside : forall G r s both, (2 <= G)%nat -> is_lim (growth undivided G r s both) 0 ((1 - 1 / INR G) * (r - s)) /\
  is_lim (growth by_deviation G r s both) 0 ((INR G - 1) / sqrt (INR G) * (r - s)) /\
  is_lim (growth by_mean G r s both) 0 ((INR G - 1) * r - s).
Proof.
  intros [|[|m]] r s b L; try lia. set (n := S m). assert (PG := lt_0_INR (S n) ltac:(lia)). assert (Pn := lt_0_INR n ltac:(unfold n; lia)).
  assert (EG : INR (S n) = INR n + 1) by apply S_INR. repeat split.
  - replace ((1 - 1 / INR (S n)) * (r - s)) with (r * gain undivided (S n) 0 - s * gain undivided (S n) n); [apply growth_at_the_end|].
    unfold gain, undivided. rewrite EG. simpl (INR 0). simpl (INR 1). field. lra.
  - replace ((INR (S n) - 1) / sqrt (INR (S n)) * (r - s)) with (r * gain by_deviation (S n) 0 - s * gain by_deviation (S n) n); [apply growth_at_the_end|].
    assert (B := gain_back n 0 ltac:(lia)). rewrite Nat.sub_0_r in B. rewrite B. unfold gain. rewrite deviation_right by lia. unfold by_deviation. simpl (Nat.eqb 0 0). cbn [orb].
    replace (S n - 1)%nat with n by lia. simpl (INR 1). rewrite Rmult_1_l, sqrt_mult by lra. assert (SG := sqrt_lt_R0 _ PG). assert (Sn := sqrt_sqrt (INR n) ltac:(lra)).
    assert (SS := sqrt_sqrt (INR (S n)) ltac:(lra)). replace (INR (S n) - 1) with (sqrt (INR n) * sqrt (INR n)) by lra.
    set (g := sqrt (INR (S n))) in *. set (w := sqrt (INR n)) in *. rewrite <- SS. field. lra.
  - replace ((INR (S n) - 1) * r - s) with (r * gain by_mean (S n) 0 - s * gain by_mean (S n) n); [apply growth_at_the_end|].
    unfold gain, by_mean, n. simpl (Nat.eqb _ _). cbv iota. fold n. rewrite EG. simpl (INR 1). field. lra.
Qed.
