(* Strategies shared by prompts: what training by expected reward raises and loses. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Extremes KLControl Trees Processing Coverage.
Import ListNotations. Open Scope R_scope.
(* The mean of what is rewarded rises with the gain (Chebyshev). *)
Theorem reward_rises {Y} : forall (ys : list Y) q r g h, ys <> [] -> law ys q -> positive ys q -> g <= h ->
  sum ys (fun y => q y * exp (g * r y) * r y) / sum ys (fun y => q y * exp (g * r y)) <=
  sum ys (fun y => q y * exp (h * r y) * r y) / sum ys (fun y => q y * exp (h * r y)).
Proof.
  intros ys q r g h N [W S] P L. set (a := fun y => q y * exp (g * r y)). set (b := fun y => q y * exp (h * r y)).
  assert (pos : forall k, 0 < sum ys (fun y => q y * exp (k * r y))).
  { intro k. destruct ys as [|y s]; [contradiction|]. simpl. assert (0 < q y * exp (k * r y)) by (apply Rmult_lt_0_compat; [apply P; simpl; auto|apply exp_pos]).
    assert (0 <= sum s (fun y => q y * exp (k * r y))); [|lra]. apply sum_nonneg. intros x J. apply Rmult_le_pos; [apply W; simpl; auto|apply Rlt_le, exp_pos]. }
  assert (A := pos g). assert (B := pos h). fold a in A. fold b in B.
  assert (G : 0 <= sum ys (fun y => sum ys (fun z => (a y * b z - a z * b y) * (r z - r y)))).
  { apply sum_nonneg. intros y I. apply sum_nonneg. intros z J. unfold a, b.
    replace (q y * exp (g * r y) * (q z * exp (h * r z)) - q z * exp (g * r z) * (q y * exp (h * r y)))
      with (q y * q z * exp (g * r y + g * r z) * (exp ((h - g) * r z) - exp ((h - g) * r y))).
    - rewrite Rmult_assoc. apply Rmult_le_pos; [apply Rmult_le_pos; [apply Rmult_le_pos; apply W; auto|apply Rlt_le, exp_pos]|].
      assert (M : forall x y, x <= y -> exp x <= exp y) by (intros x x' [H|H]; [left; apply exp_increasing, H|rewrite H; right; reflexivity]).
      destruct (Rle_or_lt (r y) (r z)) as [H|H].
      + apply Rmult_le_pos; [|lra]. assert (U := M ((h - g) * r y) ((h - g) * r z) ltac:(nra)). lra.
      + rewrite <- Rmult_opp_opp. apply Rmult_le_pos; [|lra]. assert (U := M ((h - g) * r z) ((h - g) * r y) ltac:(nra)). lra.
    - rewrite exp_plus. replace (h * r z) with (g * r z + (h - g) * r z) by ring. replace (h * r y) with (g * r y + (h - g) * r y) by ring.
      rewrite !exp_plus. ring. }
  assert (E : sum ys (fun y => sum ys (fun z => (a y * b z - a z * b y) * (r z - r y))) =
    2 * (sum ys a * sum ys (fun y => b y * r y) - sum ys b * sum ys (fun y => a y * r y))).
  { rewrite (sum_ext ys _ (fun y => (sum ys (fun z => b z * r z) * a y - sum ys b * (a y * r y)) - (sum ys (fun z => a z * r z) * b y - sum ys a * (b y * r y)))).
    - rewrite !sum_minus, !sum_scale. ring.
    - intros y _. rewrite (sum_ext ys _ (fun z => (a y * (b z * r z) - a y * r y * b z) - (b y * (a z * r z) - b y * r y * a z))) by (intros; ring).
      rewrite !sum_minus, !sum_scale. ring. }
  change (sum ys (fun y => a y * r y) / sum ys a <= sum ys (fun y => b y * r y) / sum ys b).
  apply Rmult_le_reg_r with (sum ys a * sum ys b); [apply Rmult_lt_0_compat; auto|].
  replace (sum ys (fun y => a y * r y) / sum ys a * (sum ys a * sum ys b)) with (sum ys b * sum ys (fun y => a y * r y)) by (field; lra).
  replace (sum ys (fun y => b y * r y) / sum ys b * (sum ys a * sum ys b)) with (sum ys a * sum ys (fun y => b y * r y)) by (field; lra). lra.
Qed.
Lemma pass_rises : forall k p p', 0 <= p <= p' -> p' <= 1 -> pass_at k p <= pass_at k p'.
Proof. intros k p p' H U. unfold pass_at. assert (P := pow_incr (1 - p') (1 - p) k ltac:(lra)). lra. Qed.
Lemma pass_bounds : forall k p, 0 <= p <= 1 -> 0 <= pass_at k p <= 1.
Proof.
  intros k p H. unfold pass_at. assert (A := pow_le (1 - p) k ltac:(lra)). assert (B := pow_incr (1 - p) 1 k ltac:(lra)). rewrite pow1 in B. lra.
Qed.
Section Shared.
Context {S T : Type} (ss : list S) (ts : list T) (rho : T -> R) (c : T -> S -> R).
(* Types of prompts ts in shares rho, strategies ss; c t s: how often strategy s solves type t. *)
Definition solves (q : S -> R) (t : T) : R := sum ss (fun s => q s * c t s).
Definition pass_of_types (rates : T -> R) (k : nat) : R := sum ts (fun t => rho t * pass_at k (rates t)).
Definition worth (s : S) : R := sum ts (fun t => rho t * c t s).
Definition trained (q reward : S -> R) (gain : R) (s : S) : R :=
  q s * exp (gain * reward s) / sum ss (fun z => q z * exp (gain * reward z)).
Definition chances : Prop := forall t s, In t ts -> In s ss -> 0 <= c t s <= 1.
Lemma trained_sum : forall q reward g, ss <> [] -> positive ss q -> 0 < sum ss (fun z => q z * exp (g * reward z)).
Proof.
  intros q w g N P. destruct ss as [|s l]; [contradiction|]. simpl.
  assert (0 < q s * exp (g * w s)) by (apply Rmult_lt_0_compat; [apply P; simpl; auto|apply exp_pos]).
  assert (0 <= sum l (fun z => q z * exp (g * w z))); [|lra]. apply sum_nonneg. intros z I.
  apply Rmult_le_pos; [apply Rlt_le, P; simpl; auto|apply Rlt_le, exp_pos].
Qed.
Lemma trained_law : forall q reward g, ss <> [] -> positive ss q -> law ss (trained q reward g).
Proof.
  intros q w g N P. assert (Z := trained_sum q w g N P). split.
  - intros s I. apply Rlt_le, Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; [apply P, I|apply exp_pos]|exact Z].
  - unfold trained. rewrite (sum_ext ss _ (fun s => / sum ss (fun z => q z * exp (g * w z)) * (q s * exp (g * w s)))) by (intros; unfold Rdiv; ring).
    rewrite sum_scale. field. lra.
Qed.
Lemma trained_mean : forall q reward g f, ss <> [] -> positive ss q -> sum ss (fun s => trained q reward g s * f s) =
  sum ss (fun s => q s * exp (g * reward s) * f s) / sum ss (fun s => q s * exp (g * reward s)).
Proof.
  intros q w g f N P. unfold Rdiv. rewrite Rmult_comm, <- sum_scale. apply sum_ext. intros s _. unfold trained, Rdiv. ring.
Qed.
Lemma solves_bounds : forall q t, law ss q -> chances -> In t ts -> 0 <= solves q t <= 1.
Proof.
  intros q t [W N] C I. split; [apply sum_nonneg; intros s J; apply Rmult_le_pos; [apply W, J|apply (C t s I J)]|].
  rewrite <- N. apply sum_le. intros s J. assert (A := W s J). assert (B := C t s I J). nra.
Qed.
Theorem one_type : forall q q' t k, law ss q -> law ss q' -> chances -> In t ts -> solves q t <= solves q' t ->
  pass_at k (solves q t) <= pass_at k (solves q' t).
Proof. intros q q' t k L L' C I H. apply pass_rises; [split; [apply solves_bounds; auto|exact H]|apply solves_bounds; auto]. Qed.
Theorem conditioned : forall (q : T -> S -> R) k gain, ss <> [] -> (forall t, In t ts -> law ss (q t) /\ positive ss (q t)) ->
  weights ts rho -> chances -> 0 <= gain ->
  pass_of_types (fun t => solves (q t) t) k <= pass_of_types (fun t => solves (trained (q t) (c t) gain) t) k.
Proof.
  intros q k g N L W C G. apply sum_le. intros t I. apply Rmult_le_compat_l; [apply W, I|]. destruct (L t I) as [Lt Pt].
  apply one_type; auto; [apply trained_law; auto|]. unfold solves. rewrite trained_mean by auto.
  assert (H := reward_rises ss (q t) (c t) 0 g N Lt Pt G).
  rewrite (sum_ext ss (fun y => q t y * exp (0 * c t y)) (q t)) in H by (intros; rewrite Rmult_0_l, exp_0; ring). rewrite (proj2 Lt) in H.
  rewrite (sum_ext ss (fun y => q t y * exp (0 * c t y) * c t y) (fun y => q t y * c t y)) in H by (intros; rewrite Rmult_0_l, exp_0; ring). lra.
Qed.
(* Pass@1 is the mean worth of the strategies. *)
Lemma pass_at_1 : forall q, pass_of_types (solves q) 1 = sum ss (fun s => q s * worth s).
Proof.
  intro q. unfold pass_of_types, worth, solves, pass_at.
  rewrite (sum_ext ts _ (fun t => sum ss (fun s => rho t * (q s * c t s)))) by (intros; rewrite sum_scale; ring).
  rewrite sum_swap. apply sum_ext. intros s _. rewrite <- sum_scale. apply sum_ext. intros; ring.
Qed.
Theorem training_rises : forall q g h, ss <> [] -> law ss q -> positive ss q -> g <= h ->
  pass_of_types (solves (trained q worth g)) 1 <= pass_of_types (solves (trained q worth h)) 1.
Proof. intros q g h N L P H. rewrite !pass_at_1, !trained_mean by auto. apply reward_rises; auto. Qed.
(* Every strategy solves a type always or never; top is the best, by a gap. *)
Definition at_most_one (x : R) : R := (x + 1 - Rabs (x - 1)) / 2.
Definition left_over (q : S -> R) (top : S) (gap gain : R) : R := at_most_one ((1 - q top) / q top * exp (- (gain * gap))).
Lemma sum_apart : forall top, NoDup ss -> In top ss -> exists others, (forall s, In s others -> In s ss /\ s <> top) /\
  forall f, sum ss f = f top + sum others f.
Proof.
  intros top N I. destruct (in_split top ss I) as (l & m & E). exists (l ++ m). rewrite E in N. apply NoDup_remove_2 in N. split.
  - intros s J. split; [|intros ->; contradiction]. rewrite E. apply in_or_app. apply in_app_or in J. simpl. tauto.
  - intro f. rewrite E, !sum_app. simpl. ring.
Qed.
Lemma trained_left : forall q top gap gain, NoDup ss -> law ss q -> positive ss q -> In top ss -> 0 <= gain ->
  (forall s, In s ss -> s <> top -> worth s + gap <= worth top) ->
  1 - left_over q top gap gain <= trained q worth gain top <= 1 /\ 0 <= left_over q top gap gain <= 1.
Proof.
  intros q top gap g N L P I G H. assert (NE : ss <> []) by (intro E; rewrite E in I; contradiction).
  assert (L' := trained_law q worth g NE P). assert (B : trained q worth g top <= 1) by (rewrite <- (proj2 L'); apply term_le_sum; [apply L'|exact I]).
  assert (B0 := proj1 L' top I). assert (Q := P top I). assert (Z := trained_sum q worth g NE P).
  destruct (sum_apart top N I) as (O & HO & A). assert (X := exp_pos (- (g * gap))). set (x := (1 - q top) / q top * exp (- (g * gap))).
  assert (O1 : sum O q = 1 - q top) by (rewrite <- (proj2 L), (A q); ring).
  assert (Q1 : 0 <= 1 - q top) by (rewrite <- O1; apply sum_nonneg; intros s J; apply Rlt_le, P, HO, J).
  assert (x0 : 0 <= x) by (apply Rmult_le_pos; [apply Rdiv_le_0_compat; lra|lra]).
  assert (K : 1 - trained q worth g top <= x).
  { unfold trained. set (F := sum ss (fun z => q z * exp (g * worth z))) in *. set (e := exp (g * worth top)).
    assert (E := exp_pos (g * worth top)). fold e in E. assert (Y : F <= q top * e + (1 - q top) * (e * exp (- (g * gap)))).
    { unfold F. rewrite A. fold e. apply Rplus_le_compat_l. rewrite <- O1, Rmult_comm, <- sum_scale. apply sum_le. intros s J. rewrite Rmult_comm.
      apply Rmult_le_compat_r; [apply Rlt_le, P, HO, J|]. unfold e. rewrite <- exp_plus. destruct (HO s J) as [J1 J2]. specialize (H s J1 J2).
      assert (M : g * worth s <= g * worth top + - (g * gap)) by nra. destruct M as [M|M]; [left; apply exp_increasing, M|rewrite M; right; reflexivity]. }
    assert (F1 : q top * e <= F).
    { unfold F. rewrite A. fold e. assert (0 <= sum O (fun z => q z * exp (g * worth z))); [|lra]. apply sum_nonneg. intros s J.
      apply Rmult_le_pos; [apply Rlt_le, P, HO, J|apply Rlt_le, exp_pos]. }
    assert (W : 0 < q top * e) by (apply Rmult_lt_0_compat; auto). apply Rmult_le_reg_r with F; [exact Z|].
    replace ((1 - q top * e / F) * F) with (F - q top * e) by (field; lra). apply Rle_trans with (x * (q top * e)); [|apply Rmult_le_compat_l; auto].
    unfold x. replace ((1 - q top) / q top * exp (- (g * gap)) * (q top * e)) with ((1 - q top) * (e * exp (- (g * gap)))) by (field; lra). lra. }
  unfold left_over, at_most_one. fold x. destruct (Rcase_abs (x - 1)); [rewrite Rabs_left|rewrite Rabs_right]; lra.
Qed.
Theorem training_ends : forall q top gap gain k, NoDup ss -> law ss q -> positive ss q -> law ts rho -> In top ss ->
  (forall t s, In t ts -> In s ss -> c t s = 0 \/ c t s = 1) -> 0 <= gain ->
  (forall s, In s ss -> s <> top -> worth s + gap <= worth top) ->
  let d := left_over q top gap gain in
  worth top * (1 - d ^ k) <= pass_of_types (solves (trained q worth gain)) k /\
  pass_of_types (solves (trained q worth gain)) k <= worth top + (1 - worth top) * (1 - (1 - d) ^ k).
Proof.
  intros q top gap g k N L P [Wr Sr] I Z G H d. destruct (trained_left q top gap g N L P I G H) as [[A B] D]. fold d in A, D.
  assert (NE : ss <> []) by (intro E; rewrite E in I; contradiction). assert (L' := trained_law q worth g NE P).
  set (p := trained q worth g) in *. destruct (sum_apart top N I) as (O & HO & S0).
  assert (C : chances) by (intros t s Jt Js; destruct (Z t s Jt Js) as [-> | ->]; lra).
  assert (each : forall t, In t ts -> c t top * (1 - d ^ k) <= pass_at k (solves p t) <= c t top + (1 - c t top) * (1 - (1 - d) ^ k)).
  { intros t J. assert (Q := solves_bounds p t L' C J). assert (R := pass_bounds k _ Q). destruct (Z t top J I) as [E|E]; rewrite E.
    - assert (U : solves p t <= d).
      { unfold solves. rewrite S0, E. rewrite Rmult_0_r, Rplus_0_l. apply Rle_trans with (sum O p).
        - apply sum_le. intros s K. assert (X := proj1 L' s (proj1 (HO s K))). assert (Y := C t s J (proj1 (HO s K))). nra.
        - assert (Sp := proj2 L'). rewrite S0 in Sp. lra. }
      assert (V := pass_rises k (solves p t) d ltac:(lra) ltac:(lra)). unfold pass_at at 2 in V. lra.
    - assert (U : 1 - d <= solves p t).
      { unfold solves. rewrite S0, E. assert (0 <= sum O (fun s => p s * c t s)); [|lra]. apply sum_nonneg. intros s K.
        apply Rmult_le_pos; [apply (proj1 L'), HO, K|apply (C t s J), HO, K]. }
      assert (V := pass_rises k (1 - d) (solves p t) ltac:(lra) ltac:(lra)). unfold pass_at at 1 in V. replace (1 - (1 - d)) with d in V by ring. lra. }
  unfold pass_of_types, worth. split.
  - rewrite Rmult_comm, <- sum_scale. apply sum_le. intros t J. rewrite <- Rmult_assoc, (Rmult_comm _ (rho t)), Rmult_assoc.
    apply Rmult_le_compat_l; [apply Wr, J|]. rewrite Rmult_comm. apply each, J.
  - apply Rle_trans with (sum ts (fun t => rho t * (c t top + (1 - c t top) * (1 - (1 - d) ^ k)))).
    + apply sum_le. intros t J. apply Rmult_le_compat_l; [apply Wr, J|apply each, J].
    + right. rewrite (sum_ext ts _ (fun t => (1 - d) ^ k * (rho t * c t top) + (1 - (1 - d) ^ k) * rho t)) by (intros; ring).
      rewrite sum_plus, !sum_scale, Sr. ring.
Qed.
Theorem base_covers : forall q, ss <> [] -> ts <> [] -> law ss q -> positive ss q -> law ts rho -> positive ts rho -> chances ->
  (forall t, In t ts -> exists s, In s ss /\ c t s = 1) -> (forall s, In s ss -> exists t, In t ts /\ c t s = 0) ->
  highest ss worth < 1 /\ (forall k, pass_at k (lowest ts (solves q)) <= pass_of_types (solves q) k) /\
  is_lim_seq (pass_of_types (solves q)) 1.
Proof.
  intros q NS NT L P Lr Pr C A B. assert (H : highest ss worth < 1).
  { destruct (highest_in ss worth NS) as (s & I & ->). destruct (B s I) as (t & J & Z). unfold worth. rewrite <- (proj2 Lr). apply Rminus_gt_0_lt.
    rewrite <- sum_minus. assert (W : weights ts (fun x => rho x - rho x * c x s)).
    { intros x K. assert (X := Pr x K). assert (Y := C x s K I). nra. }
    apply Rlt_le_trans with (rho t - rho t * c t s); [rewrite Z; assert (X := Pr t J); lra|exact (term_le_sum ts _ t W J)]. }
  destruct (highest_in ts (fun t => - solves q t) NT) as (t & J & E). assert (E' : lowest ts (solves q) = solves q t) by (unfold lowest; rewrite E; ring).
  assert (M : 0 < lowest ts (solves q) <= 1).
  { rewrite E'. split; [|apply solves_bounds; auto]. destruct (A t J) as (s & I & Z). apply Rlt_le_trans with (q s * c t s); [rewrite Z, Rmult_1_r; apply P, I|].
    apply (term_le_sum ss (fun s => q s * c t s)); [|exact I]. intros z K. apply Rmult_le_pos; [apply Rlt_le, P, K|apply (C t z J K)]. }
  assert (K : forall k, pass_at k (lowest ts (solves q)) <= pass_of_types (solves q) k <= 1).
  { intro k. unfold pass_of_types. split.
    - rewrite <- (Rmult_1_r (pass_at k _)), <- (proj2 Lr), <- sum_scale. apply sum_le. intros x I. rewrite Rmult_comm.
      apply Rmult_le_compat_l; [apply Lr, I|]. apply pass_rises; [split; [lra|apply lowest_le, I]|apply solves_bounds; auto].
    - rewrite <- (proj2 Lr). apply sum_le. intros x I. assert (X := proj1 Lr x I). assert (Y := pass_bounds k _ (solves_bounds q x L C I)). nra. }
  split; [exact H|]. split; [intro k; apply K|].
  apply (is_lim_seq_le_le (fun k => 1 - (1 - lowest ts (solves q)) ^ k) _ (fun _ => 1)); [exact K| |apply is_lim_seq_const].
  replace (Finite 1) with (Finite (1 - 0)) by (f_equal; ring). apply is_lim_seq_minus'; [apply is_lim_seq_const|].
  apply is_lim_seq_geom. rewrite Rabs_right; lra.
Qed.
End Shared.
