(* Members of a family that are the best but for a slack, as beta falls; what the maximum of the mean's objective solves. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws KLControl Divergences Limits Trees Groups Coverage Updates Strategies Families Retention.
Import ListNotations. Open Scope R_scope.

(* M1: within e of another member's distance to the tilted model. *)
Theorem validity_with_slack {Y} : forall (ys : list Y) base valid beta q r e, law ys q -> law ys r -> law ys base -> positive ys base ->
  0 < beta -> kl ys q (tilted ys base valid beta) <= kl ys r (tilted ys base valid beta) + e ->
  mass ys r valid - mass ys q valid <= beta * (kl ys r base - kl ys q base + e) /\
  (mass ys q valid <= mass ys r valid -> kl ys q base <= kl ys r base + e).
Proof.
  intros ys a v b q r e Lq Lr La P B H. rewrite !kl_to_tilted in H by auto.
  assert (G : mass ys r v - mass ys q v <= b * (kl ys r a - kl ys q a + e)).
  { assert (K : b * (kl ys q a - mass ys q v / b) <= b * (kl ys r a - mass ys r v / b + e)) by (apply Rmult_le_compat_l; lra).
    replace (b * (kl ys q a - mass ys q v / b)) with (b * kl ys q a - mass ys q v) in K by (field; lra).
    replace (b * (kl ys r a - mass ys r v / b + e)) with (b * kl ys r a - mass ys r v + b * e) in K by (field; lra). lra. }
  split; [exact G|]. intro V. apply Rmult_le_reg_l with b; [exact B|]. lra.
Qed.
(* M2: near-best members have the best pass rate in the limit, and no more KL than any member that has it. *)
Theorem validity_in_the_limit {Y} : forall (ys : list Y) base valid best beta slack (q : nat -> Y -> R), law ys base -> positive ys base ->
  law ys best -> (forall n, law ys (q n) /\ 0 < beta n /\ mass ys (q n) valid <= mass ys best valid /\
    kl ys (q n) (tilted ys base valid (beta n)) <= kl ys best (tilted ys base valid (beta n)) + slack n) ->
  is_lim_seq beta 0 -> is_lim_seq slack 0 ->
  is_lim_seq (fun n => mass ys (q n) valid) (mass ys best valid) /\ forall n, kl ys (q n) base <= kl ys best base + slack n.
Proof.
  intros ys a v r b e q La P Lr H Lb Le.
  assert (W := fun n => match H n with conj A (conj B (conj C D)) => validity_with_slack ys a v (b n) (q n) r (e n) A Lr La P B D end).
  assert (N : forall n, 0 <= kl ys (q n) a) by (intro n; apply (kl_nonneg ys (q n) a (proj1 (H n)) La (fun y I _ => P y I))).
  split; [|intro n; apply (proj2 (W n)), H].
  apply is_lim_seq_le_le with (fun n => mass ys r v - b n * (kl ys r a + e n)) (fun _ => mass ys r v).
  - intro n. destruct (W n) as [A _]. destruct (H n) as (_ & B & C & _). specialize (N n). split; [|exact C].
    assert (b n * (kl ys r a - kl ys (q n) a + e n) <= b n * (kl ys r a + e n)) by (apply Rmult_le_compat_l; lra). lra.
  - evar_last.
    + apply is_lim_seq_minus'; [apply is_lim_seq_const|]. apply is_lim_seq_mult'; [exact Lb|].
      apply is_lim_seq_plus'; [apply is_lim_seq_const|exact Le].
    + simpl. f_equal. ring.
  - apply is_lim_seq_const.
Qed.

(* A function that is nowhere above its value at 0, just after it, does not rise there. *)
Lemma no_rise : forall F d, is_derive F 0 d -> (forall t, 0 < t <= 1 -> F t <= F 0) -> d <= 0.
Proof.
  intros F d D M. apply Rnot_lt_le. intro P. apply is_derive_Reals in D. destruct (D d P) as [delta H].
  assert (Q := cond_pos delta). set (t := Rmin (delta / 2) 1). assert (T : 0 < t) by (unfold t; apply Rmin_glb_lt; lra).
  assert (T1 : t <= 1) by apply Rmin_r. assert (T2 : t <= delta / 2) by apply Rmin_l.
  specialize (H t ltac:(lra) ltac:(rewrite Rabs_right by lra; lra)). specialize (M t (conj T T1)). rewrite Rplus_0_l in H.
  apply Rabs_def2 in H. assert ((F t - F 0) / t <= 0); [|lra]. apply Rmult_le_reg_r with t; [exact T|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.
Lemma mean_weight_times : forall V G, (2 <= G)%nat -> weight by_mean G V * V = pass_at (G - 1) V.
Proof.
  intros V G L. rewrite mean_weight by exact L. unfold pass_at. induction (G - 1)%nat as [|n IH]; [simpl; ring|].
  rewrite seq_S, sum_app. cbn [sum]. replace (1 + n - 1)%nat with n by lia. rewrite Rplus_0_r, Rmult_plus_distr_r, IH. simpl. ring.
Qed.
(* T3: pass rates at the maximum, towards those of any other policy whose mixtures with it are in the class. *)
Theorem maximum_solves {X} : forall (xs : list X) rho V r G, (2 <= G)%nat -> weights xs rho ->
  (forall t, 0 < t <= 1 -> sum xs (fun x => rho x * objective by_mean G (V x + t * (r x - V x))) <=
    sum xs (fun x => rho x * objective by_mean G (V x))) ->
  sum xs (fun x => rho x * (weight by_mean G (V x) * r x)) <= sum xs (fun x => rho x * pass_at (G - 1) (V x)).
Proof.
  intros xs rho V r G L W M. set (F := fun t => sum xs (fun x => rho x * objective by_mean G (V x + t * (r x - V x)))).
  assert (D : is_derive F 0 (sum xs (fun x => rho x * (weight by_mean G (V x) * (r x - V x))))).
  { apply (sum_derive xs (fun t x => rho x * objective by_mean G (V x + t * (r x - V x)))). intros x _.
    apply (is_derive_scal (fun t => objective by_mean G (V x + t * (r x - V x)))).
    evar_last; [apply (is_derive_comp (objective by_mean G) (fun t => V x + t * (r x - V x)))|].
    - replace (V x + 0 * (r x - V x)) with (V x) by ring. apply objective_slope. lia.
    - auto_derive; [auto|reflexivity].
    - unfold scal; simpl; unfold mult; simpl. ring. }
  assert (N := no_rise F _ D ltac:(intros t T; unfold F; rewrite (sum_ext xs (fun x => rho x * objective by_mean G (V x + 0 * (r x - V x)))
    (fun x => rho x * objective by_mean G (V x))) by (intros; do 2 f_equal; ring); apply M, T)).
  rewrite (sum_ext xs _ (fun x => rho x * (weight by_mean G (V x) * r x) - rho x * pass_at (G - 1) (V x))) in N.
  - rewrite sum_minus in N. lra.
  - intros x _. rewrite <- mean_weight_times by exact L. ring.
Qed.
