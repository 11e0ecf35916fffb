(* GRPO in exact rounds with a fixed reference: the recursion of the log odds and its fixed points. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Pinsker KLControl Frontier Updates.
Import ListNotations. Open Scope R_scope.

Definition spread (p : R) : R := sqrt (p * (1 - p)).
Lemma spread_positive : forall p, 0 < p < 1 -> 0 < spread p.
Proof. intros p H. apply sqrt_lt_R0. nra. Qed.
(* The best policy for the advantage (v - p)/scale, p and scale those of the round's policy or any. *)
Theorem round_is {Y} : forall (ys : list Y) base valid beta p scale, law ys base -> positive ys base ->
  0 < mass ys base valid < 1 -> 0 < beta -> 0 < scale ->
  let advantage := fun y => (one (valid y) - p) / scale in let next := tilted_by ys base advantage beta in
  mass ys next valid = expit (logit (mass ys base valid) + 1 / (beta * scale)) /\
  (forall q, law ys q -> sum ys (fun y => q y * advantage y) - beta * kl ys q base <=
    sum ys (fun y => next y * advantage y) - beta * kl ys next base) /\
  (forall q, law ys q -> sum ys (fun y => q y * advantage y) - beta * kl ys q base =
    sum ys (fun y => next y * advantage y) - beta * kl ys next base -> forall y, In y ys -> q y = next y).
Proof.
  intros ys a v b p s L P M B S A next. assert (C : 0 < b * s) by (apply Rmult_lt_0_compat; auto).
  assert (E : forall y, In y ys -> next y = tilted ys a v (b * s) y).
  { intros y I. assert (T := errors_scale_beta ys a v b (- p / s) (1 + p / s - 1 / s) L P B).
    replace (1 - - p / s - (1 + p / s - 1 / s)) with (1 / s) in T by (field; lra).
    replace (b / (1 / s)) with (b * s) in T by (field; lra). rewrite <- T; auto; [|apply Rdiv_lt_0_compat; lra].
    unfold next, tilted_by, A. assert (F : forall z, (one (v z) - p) / s / b = (- p / s + 1 / s * one (v z)) / b) by (intro; field; lra).
    rewrite F. f_equal. apply sum_ext. intros z _. rewrite F. reflexivity. }
  assert (V : forall f, (forall y, In y ys -> f y = tilted ys a v (b * s) y) -> mass ys f v = mass ys (tilted ys a v (b * s)) v /\
    kl ys f a = kl ys (tilted ys a v (b * s)) a).
  { intros f H. split; apply sum_ext; intros y I; rewrite (H y I); reflexivity. }
  destruct (V next E) as [Vn Kn]. assert (G : forall q, sum ys q = 1 -> sum ys (fun y => q y * A y) = (mass ys q v - p) / s).
  { intros q Q. rewrite (sum_ext ys _ (fun y => / s * (one (v y) * q y) - p / s * q y)) by (intros; unfold A; field; lra).
    rewrite sum_minus, !sum_scale, Q. fold (mass ys q v). field. lra. }
  destruct (tilted_law ys a v (b * s) L P) as [Lt _]. assert (Sn : sum ys next = 1) by (rewrite (sum_ext ys _ _ E); apply Lt).
  assert (O := control_value ys a v (b * s) L P M C). destruct O as (O1 & _ & O2).
  assert (R : forall x, (x - p) / s = x / s - p / s) by (intro; field; lra).
  assert (D : forall m k, m / s - b * k = (m - b * s * k) / s) by (intros; field; lra).
  split; [rewrite Vn; apply validity; auto|]. split.
  - intros q Q. rewrite (G next Sn), (G q (proj2 Q)), Vn, Kn, !R. specialize (O2 q Q). rewrite <- O1 in O2.
    apply Rle_trans with (mass ys q v / s - b * kl ys q a - p / s); [lra|]. rewrite D.
    apply Rle_trans with (mass ys (tilted ys a v (b * s)) v / s - b * kl ys (tilted ys a v (b * s)) a - p / s); [|lra]. rewrite D.
    apply Rplus_le_compat_r. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, S|exact O2].
  - intros q Q H y I. rewrite (E y I). apply (control_unique ys q a v (b * s) Q L P C); auto. rewrite <- O1.
    rewrite (G next Sn), (G q (proj2 Q)), Vn, Kn, !R in H.
    assert (X : (mass ys q v - b * s * kl ys q a) / s = (mass ys (tilted ys a v (b * s)) v - b * s * kl ys (tilted ys a v (b * s)) a) / s)
      by (rewrite <- !D; lra).
    apply (f_equal (Rmult s)) in X. field_simplify in X; lra.
Qed.
Definition fixing (base_rate p : R) : R := 1 / ((logit p - logit base_rate) * spread p).
Lemma logit_lt : forall r p, 0 < r < p -> p < 1 -> logit r < logit p.
Proof. intros r p H U. unfold logit. assert (A := ln_increasing r p ltac:(lra) ltac:(lra)).
  assert (B := ln_increasing (1 - p) (1 - r) ltac:(lra) ltac:(lra)). lra. Qed.
Theorem interior_points : forall base_rate p, 0 < base_rate < p -> p < 1 ->
  expit (logit base_rate + 1 / (fixing base_rate p * spread p)) = p /\ 0 < fixing base_rate p /\
  forall beta, 0 < beta -> expit (logit base_rate + 1 / (beta * spread p)) = p -> beta = fixing base_rate p.
Proof.
  intros r p H U. assert (S := spread_positive p ltac:(lra)). assert (L := logit_lt r p H U).
  assert (N : 0 < (logit p - logit r) * spread p) by (apply Rmult_lt_0_compat; lra). split; [|split].
  - unfold fixing. replace (logit r + _) with (logit p) by (field; lra). apply expit_of_logit; lra.
  - apply Rdiv_lt_0_compat; lra.
  - intros b B E. apply (f_equal logit) in E. rewrite logit_expit in E. unfold fixing. rewrite <- E. field. lra.
Qed.
(* One round, in log odds: 1/spread = e^(l/2) + e^(-l/2). *)
Definition next_log_odds (start beta l : R) : R := start + (exp (l / 2) + exp (- (l / 2))) / beta.
Lemma spread_is : forall p, 0 < p < 1 -> / spread p = exp (logit p / 2) + exp (- (logit p / 2)).
Proof.
  intros p H. assert (S := spread_positive p H). assert (E : forall x, 0 < x -> exp (ln x / 2) = sqrt x).
  { intros x X. symmetry. apply sqrt_lem_1; [lra|apply Rlt_le, exp_pos|]. rewrite <- exp_plus. replace (ln x / 2 + ln x / 2) with (ln x) by field. apply exp_ln, X. }
  assert (A := sqrt_lt_R0 p ltac:(lra)). assert (B := sqrt_lt_R0 (1 - p) ltac:(lra)).
  assert (Qa := sqrt_def p ltac:(lra)). assert (Qb := sqrt_def (1 - p) ltac:(lra)).
  unfold logit. replace ((ln p - ln (1 - p)) / 2) with (ln p / 2 + - (ln (1 - p) / 2)) by field.
  rewrite exp_Ropp, exp_plus, exp_Ropp, !E by lra. unfold spread. rewrite sqrt_mult by lra.
  replace (sqrt p * / sqrt (1 - p) + / (sqrt p * / sqrt (1 - p))) with ((sqrt p * sqrt p + sqrt (1 - p) * sqrt (1 - p)) / (sqrt p * sqrt (1 - p))) by (field; lra).
  rewrite Qa, Qb. replace (p + (1 - p)) with 1 by ring. field. lra.
Qed.
Lemma next_is : forall r b p, 0 < p < 1 -> 0 < b -> logit r + 1 / (b * spread p) = next_log_odds (logit r) b (logit p).
Proof.
  intros r b p H B. assert (S := spread_positive p H). unfold next_log_odds. rewrite <- spread_is by exact H. field. lra.
Qed.
Definition level (base_rate p : R) : R := (logit p - logit base_rate) * spread p.
Lemma exp_between : forall t x z, 0 < t < 1 -> x <> z -> exp ((1 - t) * x + t * z) < (1 - t) * exp x + t * exp z.
Proof.
  intros t x z T N. set (m := (1 - t) * x + t * z). assert (E := exp_pos m).
  assert (A : exp x = exp m * exp (x - m)) by (rewrite <- exp_plus; f_equal; ring).
  assert (B : exp z = exp m * exp (z - m)) by (rewrite <- exp_plus; f_equal; ring).
  assert (C : x - m <> 0) by (unfold m; intro C; apply N; nra). assert (D := exp_ineq1 (x - m) C).
  assert (F := exp_ineq1_le (z - m)). rewrite A, B. assert (G : (1 - t) * (x - m) + t * (z - m) = 0) by (unfold m; ring).
  assert (1 < (1 - t) * exp (x - m) + t * exp (z - m)) by nra. nra.
Qed.
Theorem one_peak : forall base_rate p1 p2 p3, 0 < base_rate < p1 -> p1 < p2 < p3 -> p3 < 1 ->
  Rmin (level base_rate p1) (level base_rate p3) < level base_rate p2.
Proof.
  intros r p1 p2 p3 H1 H2 H3. assert (L1 := logit_lt r p1 H1 ltac:(lra)). assert (L2 := logit_lt p1 p2 ltac:(lra) ltac:(lra)).
  assert (L3 := logit_lt p2 p3 ltac:(lra) ltac:(lra)). set (m := Rmin (level r p1) (level r p3)).
  assert (W : forall p, 0 < p < 1 -> forall k, (k <= level r p <-> k * (exp (logit p / 2) + exp (- (logit p / 2))) <= logit p - logit r) /\
    (k < level r p <-> k * (exp (logit p / 2) + exp (- (logit p / 2))) < logit p - logit r)).
  { intros p H k. assert (S := spread_positive p H). rewrite <- spread_is by exact H. unfold level.
    assert (E : forall k, k * / spread p * spread p = k) by (intro; field; lra).
    split; split; intro X.
    - apply Rmult_le_reg_r with (spread p); [exact S|]. rewrite E. exact X.
    - rewrite <- (E k). apply Rmult_le_compat_r; lra.
    - apply Rmult_lt_reg_r with (spread p); [exact S|]. rewrite E. exact X.
    - rewrite <- (E k). apply Rmult_lt_compat_r; lra. }
  apply (W p2 ltac:(lra)). assert (A := proj1 (proj1 (W p1 ltac:(lra) m)) (Rmin_l _ _)).
  assert (B := proj1 (proj1 (W p3 ltac:(lra) m)) (Rmin_r _ _)). assert (M : 0 < m).
  { unfold m. apply Rmin_glb_lt; apply Rmult_lt_0_compat; try apply spread_positive; lra. }
  set (x := logit p1) in *. set (y := logit p2) in *. set (z := logit p3) in *. set (t := (y - x) / (z - x)).
  assert (T : 0 < t < 1) by (unfold t; split; [apply Rdiv_lt_0_compat; lra|apply Rmult_lt_reg_r with (z - x); [lra|unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra]]).
  assert (Y : y = (1 - t) * x + t * z) by (unfold t; field; lra).
  assert (C := exp_between t (x / 2) (z / 2) T ltac:(lra)). assert (D := exp_between t (- (x / 2)) (- (z / 2)) T ltac:(lra)).
  replace ((1 - t) * (x / 2) + t * (z / 2)) with (y / 2) in C by (rewrite Y; field).
  replace ((1 - t) * - (x / 2) + t * - (z / 2)) with (- (y / 2)) in D by (rewrite Y; field).
  apply (Rmult_le_compat_l (1 - t)) in A; [|lra]. apply (Rmult_le_compat_l t) in B; [|lra].
  apply (Rmult_lt_compat_l m) in C; [|exact M]. apply (Rmult_lt_compat_l m) in D; [|exact M]. lra.
Qed.
Fixpoint rounds (start beta : R) (n : nat) : R := match n with O => start | S k => next_log_odds start beta (rounds start beta k) end.
Lemma cosh_rises : forall x y, 0 <= x < y -> exp x + exp (- x) < exp y + exp (- y).
Proof.
  intros x y H. assert (A : exp x < exp y) by (apply exp_increasing; lra). rewrite !exp_Ropp. assert (P := exp_pos x).
  assert (1 <= exp x). { rewrite <- exp_0. destruct (proj1 H) as [Z| <-]; [left; apply exp_increasing, Z|right; reflexivity]. }
  replace (exp y + / exp y) with (exp x + / exp x + (exp y - exp x) * (1 - / exp x * / exp y)) by (field; lra).
  assert (/ exp x * / exp y < 1); [|nra]. rewrite <- Rinv_mult. rewrite <- Rinv_1. apply Rinv_lt_contravar; nra.
Qed.
(* The rise of one round is least at sinh (l/2) = beta. *)
Definition least_rise (base_rate beta : R) : R := logit base_rate + 2 * sqrt (1 + / beta ^ 2) - 2 * ln (beta + sqrt (beta ^ 2 + 1)).
Lemma rise_least : forall r b, 0 < b -> forall l, least_rise r b <= next_log_odds (logit r) b l - l /\
  (l <> 2 * ln (b + sqrt (b ^ 2 + 1)) -> least_rise r b < next_log_odds (logit r) b l - l).
Proof.
  intros r b B l. set (w := sqrt (b ^ 2 + 1)). assert (W : w * w = b ^ 2 + 1) by (apply sqrt_sqrt; nra).
  assert (Hw : b < w) by (unfold w; rewrite <- (sqrt_pow2 b) at 1 by lra; apply sqrt_lt_1; nra).
  set (x := ln (b + w)). assert (E : exp x = b + w) by (apply exp_ln; lra).
  assert (F : exp (- x) = w - b) by (rewrite exp_Ropp, E; apply Rmult_eq_reg_l with (b + w); [|lra]; rewrite Rinv_r by lra; lra).
  assert (S : sqrt (1 + / b ^ 2) = w / b).
  { replace (1 + / b ^ 2) with ((b ^ 2 + 1) / b ^ 2) by (field; lra). rewrite sqrt_div_alt by (apply pow_lt, B). rewrite sqrt_pow2 by lra. reflexivity. }
  assert (A : exp (l / 2) = (b + w) * exp (l / 2 - x)) by (rewrite <- E, <- exp_plus; f_equal; ring).
  assert (C : exp (- (l / 2)) = (w - b) * exp (- (l / 2 - x))) by (rewrite <- F, <- exp_plus; f_equal; ring).
  assert (A1 := exp_ineq1_le (l / 2 - x)). assert (C1 := exp_ineq1_le (- (l / 2 - x))).
  assert (G : exp (l / 2) + exp (- (l / 2)) = 2 * w + 2 * b * (l / 2 - x) + ((b + w) * (exp (l / 2 - x) - (1 + (l / 2 - x))) +
    (w - b) * (exp (- (l / 2 - x)) - (1 + - (l / 2 - x))))) by (rewrite A, C; ring).
  assert (I : 0 < / b) by (apply Rinv_0_lt_compat, B). unfold least_rise, next_log_odds. fold w. fold x. rewrite S, G. set (k := (b + w) * _ + _) in *.
  replace ((2 * w + 2 * b * (l / 2 - x) + k) / b) with (2 * (w / b) + l - 2 * x + / b * k) by (field; lra). split.
  - assert (0 <= k) by (unfold k; apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra). assert (0 <= / b * k) by (apply Rmult_le_pos; lra). lra.
  - intro N. assert (D := exp_ineq1 (l / 2 - x) ltac:(lra)).
    assert (0 < k) by (unfold k; apply Rplus_lt_le_0_compat; [apply Rmult_lt_0_compat; lra|apply Rmult_le_pos; lra]).
    assert (0 < / b * k) by (apply Rmult_lt_0_compat; auto). lra.
Qed.
Definition fixed (base_rate beta p : R) : Prop := 0 < p < 1 /\ expit (logit base_rate + 1 / (beta * spread p)) = p.
Lemma fixed_is : forall r b p, 0 < p < 1 -> 0 < b -> (fixed r b p <-> next_log_odds (logit r) b (logit p) - logit p = 0).
Proof.
  intros r b p P B. unfold fixed. rewrite next_is by auto. split.
  - intros [_ E]. apply (f_equal logit) in E. rewrite logit_expit in E. lra.
  - intro E. split; [exact P|]. replace (next_log_odds (logit r) b (logit p)) with (logit p) by lra. apply expit_of_logit, P.
Qed.
Lemma rise_convex : forall s b l m n, 0 < b -> l < m < n -> next_log_odds s b l - l = 0 -> next_log_odds s b n - n = 0 ->
  next_log_odds s b m - m < 0.
Proof.
  intros s b l m n B H L N. unfold next_log_odds in *. set (t := (m - l) / (n - l)).
  assert (T : 0 < t < 1) by (unfold t; split; [apply Rdiv_lt_0_compat; lra|apply Rmult_lt_reg_r with (n - l); [lra|unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra]]).
  assert (Y : m = (1 - t) * l + t * n) by (unfold t; field; lra).
  assert (C := exp_between t (l / 2) (n / 2) T ltac:(lra)). assert (D := exp_between t (- (l / 2)) (- (n / 2)) T ltac:(lra)).
  replace ((1 - t) * (l / 2) + t * (n / 2)) with (m / 2) in C by (rewrite Y; field).
  replace ((1 - t) * - (l / 2) + t * - (n / 2)) with (- (m / 2)) in D by (rewrite Y; field).
  assert (I : 0 < / b) by (apply Rinv_0_lt_compat, B). unfold Rdiv in L, N |- * .
  assert (K : (exp (m / 2) + exp (- (m / 2))) * / b < ((1 - t) * (exp (l / 2) + exp (- (l / 2))) + t * (exp (n / 2) + exp (- (n / 2)))) * / b)
    by (apply Rmult_lt_compat_r; lra).
  unfold Rdiv in *. set (u := (exp (l * / 2) + exp (- (l * / 2))) * / b) in *. set (v := (exp (n * / 2) + exp (- (n * / 2))) * / b) in *.
  replace (((1 - t) * (exp (l * / 2) + exp (- (l * / 2))) + t * (exp (n * / 2) + exp (- (n * / 2)))) * / b) with ((1 - t) * u + t * v) in K by (unfold u, v; ring).
  replace u with (l - s) in K by lra. replace v with (n - s) in K by lra. lra.
Qed.
Lemma rise_crosses : forall s b x y, 0 < b -> x < y -> (next_log_odds s b x - x) * (next_log_odds s b y - y) < 0 ->
  exists l, x < l < y /\ next_log_odds s b l - l = 0.
Proof.
  intros s b x y B H N. set (f := fun l => next_log_odds s b l - l).
  assert (C : continuity f).
  { intro l. apply derivable_continuous_pt. exists ((exp (l / 2) / 2 - exp (- (l / 2)) / 2) / b - 1). apply is_derive_Reals.
    unfold f, next_log_odds. auto_derive; [exact I|]. unfold Rdiv. field. lra. }
  destruct (IVT_cor f x y C ltac:(lra) ltac:(unfold f; lra)) as (l & L & Z). exists l. split; [|exact Z].
  destruct (Req_dec l x) as [->|Nx]; [unfold f in Z; rewrite Z in N; lra|]. destruct (Req_dec l y) as [->|Ny]; [unfold f in Z; rewrite Z in N; lra|lra].
Qed.
Theorem rises_and_fixed_points : forall base_rate beta, 0 < beta ->
  (forall p, 0 < p < 1 -> least_rise base_rate beta <= logit base_rate + 1 / (beta * spread p) - logit p) /\
  (0 < least_rise base_rate beta -> forall p, ~ fixed base_rate beta p) /\
  (least_rise base_rate beta = 0 -> exists p, fixed base_rate beta p /\ forall p', fixed base_rate beta p' -> p' = p) /\
  (least_rise base_rate beta < 0 -> exists p1 p2, p1 < p2 /\ fixed base_rate beta p1 /\ fixed base_rate beta p2 /\
    forall p, fixed base_rate beta p -> p = p1 \/ p = p2).
Proof.
  intros r b B. set (s := logit r). set (f := fun l => next_log_odds s b l - l). set (z := 2 * ln (b + sqrt (b ^ 2 + 1))).
  assert (R := rise_least r b B). fold s in R. assert (Fp : forall p, 0 < p < 1 -> (fixed r b p <-> f (logit p) = 0)) by (intros; apply fixed_is; auto).
  assert (P : forall l, f l = 0 -> fixed r b (expit l)) by (intros l L; apply Fp; [apply expit_bounds|rewrite logit_expit; exact L]).
  assert (U : forall p l, fixed r b p -> logit p = l -> p = expit l) by (intros p l H <-; symmetry; apply expit_of_logit, H).
  assert (Z : f z = least_rise r b).
  { unfold f, next_log_odds, least_rise. fold s. set (w := sqrt (b ^ 2 + 1)). assert (W : w * w = b ^ 2 + 1) by (apply sqrt_sqrt; nra).
    assert (Hw : b < w) by (unfold w; rewrite <- (sqrt_pow2 b) at 1 by lra; apply sqrt_lt_1; nra). unfold z. fold w.
    replace (2 * ln (b + w) / 2) with (ln (b + w)) by field. rewrite exp_Ropp, exp_ln by lra.
    replace (/ (b + w)) with (w - b) by (apply Rmult_eq_reg_l with (b + w); [rewrite Rinv_r by lra; lra|lra]).
    replace (1 + / b ^ 2) with ((b ^ 2 + 1) / b ^ 2) by (field; lra). rewrite sqrt_div_alt by (apply pow_lt, B). rewrite sqrt_pow2 by lra.
    fold w. field. lra. }
  split; [intros p Hp; unfold s; rewrite next_is by auto; apply R|]. split; [|split].
  - intros H p Q. assert (Q0 := proj1 Q). apply Fp in Q; [|exact Q0]. destruct (R (logit p)) as [A _]. unfold f in Q. lra.
  - intro H. exists (expit z). split; [apply P; lra|]. intros p Q. apply U; auto. assert (Q0 := proj1 Q). apply Fp in Q; [|exact Q0].
    destruct (Req_dec (logit p) z) as [|N]; auto. destruct (R (logit p)) as [_ A]. specialize (A N). unfold f in Q. lra.
  - intro H. rewrite <- Z in H. assert (far : forall x, 0 < x -> 1 + x + x ^ 2 / 4 <= exp x).
    { intros x X. replace x with (x / 2 + x / 2) at 3 by field. rewrite exp_plus. assert (E := exp_ineq1_le (x / 2)). nra. }
    assert (S1 : s < z /\ 0 < f s).
    { assert (Q : 0 < (exp (s / 2) + exp (- (s / 2))) / b) by (apply Rdiv_lt_0_compat; [assert (X := exp_pos (s / 2)); assert (Y := exp_pos (- (s / 2))); lra|exact B]).
      assert (Q' : 0 < (exp (z / 2) + exp (- (z / 2))) / b) by (apply Rdiv_lt_0_compat; [assert (X := exp_pos (z / 2)); assert (Y := exp_pos (- (z / 2))); lra|exact B]).
      unfold f, next_log_odds in *. lra. }
    set (y := Rabs s + Rabs z + 32 * b + 1). assert (Y : z < y /\ 0 < f y).
    { assert (A1 := Rle_abs z). assert (A2 := Rle_abs (- s)). rewrite Rabs_Ropp in A2. assert (A3 := Rabs_pos s). assert (A4 := Rabs_pos z).
      assert (Hy : y = Rabs s + Rabs z + 32 * b + 1) by reflexivity. split; [lra|]. unfold f, next_log_odds.
      assert (E := far (y / 2) ltac:(lra)). assert (E' := exp_pos (- (y / 2))). assert (K : b * (y - s) < exp (y / 2)).
      { assert (b * (y - s) <= b * (2 * y)) by (apply Rmult_le_compat_l; lra). assert (b * (2 * y) <= y / 32 * (2 * y)) by (apply Rmult_le_compat_r; lra). nra. }
      assert (K' : (y - s) * 1 < (exp (y / 2) + exp (- (y / 2))) / b); [|lra]. apply Rmult_lt_reg_r with b; [exact B|].
      replace ((exp (y / 2) + exp (- (y / 2))) / b * b) with (exp (y / 2) + exp (- (y / 2))) by (field; lra). lra. }
    destruct (rise_crosses s b s z B (proj1 S1)) as (l & L & L0); [fold (f s) (f z); destruct S1; nra|].
    destruct (rise_crosses s b z y B (proj1 Y)) as (m & M & M0); [fold (f z) (f y); destruct Y; nra|].
    exists (expit l), (expit m). split; [|split; [apply P, L0|split; [apply P, M0|]]].
    + unfold expit, Rdiv. rewrite !Rmult_1_l. assert (X := exp_pos (- m)). assert (exp (- m) < exp (- l)) by (apply exp_increasing; lra).
      apply Rinv_lt_contravar; [apply Rmult_lt_0_compat|]; lra.
    + intros p Q. assert (Q0 := proj1 Q). assert (Qf := Q). apply Fp in Qf; [|exact Q0]. unfold f in Qf.
      destruct (Rtotal_order (logit p) l) as [C|[C|C]]; [exfalso|left; apply U; auto|].
      { assert (X := rise_convex s b (logit p) l m B ltac:(lra) Qf M0). lra. }
      destruct (Rtotal_order (logit p) m) as [D|[D|D]]; [exfalso|right; apply U; auto|exfalso].
      * assert (X := rise_convex s b l (logit p) m B ltac:(lra) L0 M0). lra.
      * assert (X := rise_convex s b l m (logit p) B ltac:(lra) L0 Qf). lra.
Qed.
(* From one half up. *)
Theorem rounds_rise : forall base_rate beta p, 1 / 2 <= base_rate < 1 -> 0 < beta -> fixed base_rate beta p -> base_rate < p ->
  let path := rounds (logit base_rate) beta in
  (forall n, path n < path (S n) < logit p) /\
  exists l, Un_cv path l /\ fixed base_rate beta (expit l) /\ forall p', fixed base_rate beta p' -> base_rate < p' -> l <= logit p'.
Proof.
  intros r b p R B F L path. set (s := logit r) in *. assert (s0 : 0 <= s).
  { unfold s, logit. assert (ln (1 - r) <= ln r); [|lra]. destruct (Req_dec (1 - r) r) as [->|N]; [lra|]. left. apply ln_increasing; lra. }
  assert (up : forall x y, 0 <= x < y -> next_log_odds s b x < next_log_odds s b y).
  { intros x y H. unfold next_log_odds. apply Rplus_lt_compat_l. apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat, B|]. apply cosh_rises; lra. }
  assert (more : forall x, s < next_log_odds s b x).
  { intro x. unfold next_log_odds. assert (X := exp_pos (x / 2)). assert (Y := exp_pos (- (x / 2))).
    assert (0 < (exp (x / 2) + exp (- (x / 2))) / b) by (apply Rdiv_lt_0_compat; lra). lra. }
  assert (below : forall q, fixed r b q -> r < q -> forall n, s <= path n < path (S n) /\ path (S n) < logit q).
  { intros q Fq Lq. assert (Q0 := proj1 Fq). apply fixed_is in Fq; [|exact Q0|exact B]. fold s in Fq.
    assert (Lq' : s < logit q) by (apply logit_lt; lra). assert (p0 : path 0%nat = s) by reflexivity.
    assert (ps : forall n, path (S n) = next_log_odds s b (path n)) by reflexivity. induction n as [|n IH].
    - rewrite ps, p0. split; [split; [lra|apply more]|]. assert (X := up s (logit q) ltac:(lra)). lra.
    - rewrite (ps (S n)), !(ps n) in *. destruct IH as [[H1 H2] H3]. assert (X := up _ _ (conj (Rle_trans _ _ _ s0 H1) H2)). assert (Y := up _ (logit q) ltac:(split; [|exact H3]; lra)). lra. }
  split; [intro n; destruct (below p F L n) as [[_ X] Y]; auto|].
  destruct (growing_cv path) as (l & C).
  - intro n. destruct (below p F L n) as [[_ X] Y]. lra.
  - exists (logit p). intros x (n & ->). destruct (below p F L n) as [[_ X] Y]. lra.
  - exists l. split; [exact C|]. assert (K : continuity_pt (next_log_odds s b) l).
    { apply derivable_continuous_pt. exists ((exp (l / 2) / 2 - exp (- (l / 2)) / 2) / b). apply is_derive_Reals.
      unfold next_log_odds. auto_derive; [exact I|]. unfold Rdiv. field. lra. }
    assert (D := continuity_seq (next_log_odds s b) path l K C).
    assert (D' : Un_cv (fun n => next_log_odds s b (path n)) l).
    { intros e E. destruct (C e E) as (N & HN). exists N. intros n Hn. apply (HN (S n)). lia. }
    assert (E := UL_sequence _ _ _ D D'). split; [apply fixed_is; [apply expit_bounds|exact B|rewrite logit_expit; fold s; lra]|].
    intros q Fq Lq. destruct (Rle_or_lt l (logit q)) as [|H]; [assumption|exfalso]. destruct (C (l - logit q) ltac:(lra)) as (N & HN).
    specialize (HN N (le_n N)). unfold R_dist in HN. destruct (below q Fq Lq N) as [[_ X] Y]. rewrite Rabs_left in HN; lra.
Qed.
