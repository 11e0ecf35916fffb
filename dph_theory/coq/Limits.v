(* The limit of small beta: how fast the tilted model becomes the filtered one. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws KLControl Frontier Divergences.
Import ListNotations. Open Scope R_scope.
(* p_b - p_* = (1 - mu)(p_0 - p_* ). *)
Lemma invalid_left : forall m beta, 0 < m < 1 -> 0 < beta ->
  1 - expit (logit m + 1 / beta) = (1 - m) / normaliser m beta /\
  1 - expit (logit m + 1 / beta) <= (1 - m) / m * exp (- (1 / beta)) /\ (1 - m) / m * exp (- (1 / beta)) <= (1 - m) / m * beta.
Proof.
  intros m b Hm Hb. assert (X := exp_pos (1 / b)). assert (Z := normaliser_positive m b ltac:(lra)).
  assert (E : 1 - expit (logit m + 1 / b) = (1 - m) / normaliser m b).
  { rewrite expit_logit_plus by exact Hm. unfold normaliser in *. field. lra. }
  split; [exact E|]. rewrite E, exp_Ropp. assert (Q : 0 < 1 / b) by (apply Rdiv_lt_0_compat; lra).
  assert (G := exp_ineq1_le (1 / b)). assert (C : 0 <= (1 - m) / m) by (apply Rdiv_le_0_compat; lra). split.
  - replace ((1 - m) / m * / exp (1 / b)) with ((1 - m) * / (m * exp (1 / b))) by (field; lra).
    apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; unfold normaliser; nra.
  - apply Rmult_le_compat_l; [exact C|]. replace b with (/ (1 / b)) at 2 by (field; lra). apply Rinv_le_contravar; lra.
Qed.
Theorem pointwise {Y} : forall (ys : list Y) base valid beta, law ys base -> 0 < mass ys base valid < 1 -> 0 < beta ->
  forall y, In y ys -> Rabs (tilted ys base valid beta y - filtered ys base valid y) <=
    (1 - mass ys base valid) / mass ys base valid * exp (- (1 / beta)) /\
  (1 - mass ys base valid) / mass ys base valid * exp (- (1 / beta)) <= (1 - mass ys base valid) / mass ys base valid * beta.
Proof.
  intros ys a v b L M Hb y I. destruct (invalid_left _ b M Hb) as (_ & H & V). split; [|exact V]. apply Rle_trans with (2 := H).
  assert (M0 := mass_negb ys a v). rewrite (proj2 L) in M0.
  assert (unit : forall u, 0 < mass ys a u -> 0 <= filtered ys a u y <= 1).
  { intros u P. assert (F := filtered_law ys a u L P). split; [apply F, I|]. rewrite <- (proj2 F). apply term_le_sum; [apply F|exact I]. }
  assert (F1 := unit v ltac:(lra)). assert (F0 := unit (fun y => negb (v y)) ltac:(lra)).
  rewrite (mixture_of_tilted ys a v b L M y I). unfold mixture. set (mu := expit _) in *. assert (B := expit_bounds (logit (mass ys a v) + 1 / b)).
  fold mu in B. apply Rabs_le. split; nra.
Qed.
Theorem variation {Y} : forall (ys : list Y) base valid beta, law ys base -> 0 < mass ys base valid < 1 -> 0 < beta ->
  tv ys (tilted ys base valid beta) (filtered ys base valid) = 1 - expit (logit (mass ys base valid) + 1 / beta).
Proof.
  intros ys a v b L M Hb. set (mu := expit _). assert (B := expit_bounds (logit (mass ys a v) + 1 / b)). fold mu in B.
  assert (M0 := mass_negb ys a v). rewrite (proj2 L) in M0. set (v0 := fun y => negb (v y)) in *.
  assert (F1 := filtered_law ys a v L (proj1 M)). assert (F0 := filtered_law ys a v0 L ltac:(lra)).
  unfold tv. rewrite (sum_ext ys _ (fun y => (1 - mu) * filtered ys a v y + (1 - mu) * filtered ys a v0 y)).
  - rewrite sum_plus, !sum_scale, (proj2 F1), (proj2 F0). field.
  - intros y I. rewrite (mixture_of_tilted ys a v b L M y I). fold mu. unfold mixture. fold v0.
    assert (P1 := proj1 F1 y I). assert (P0 := proj1 F0 y I). unfold filtered, v0 in *. destruct (v y); simpl in *.
    + replace (0 * a y / mass ys a (fun y => negb (v y))) with 0 in * by (unfold Rdiv; ring).
      set (p := 1 * a y / mass ys a v) in *. replace (mu * p + (1 - mu) * 0 - p) with (- ((1 - mu) * p)) by ring.
      rewrite Rabs_Ropp, Rabs_right; [ring|apply Rle_ge, Rmult_le_pos; lra].
    + replace (0 * a y / mass ys a v) with 0 in * by (unfold Rdiv; ring).
      set (p := 1 * a y / _) in *. rewrite Rabs_right; [ring|]. apply Rle_ge. assert (0 <= (1 - mu) * p) by (apply Rmult_le_pos; lra). lra.
Qed.
(* e^-KL is 0, for the tilted models and for every policy that keeps some invalid answer. *)
Lemma exp_minus_kl_is {Y} : forall (ys : list Y) q p, covers ys p q -> exp_minus_kl ys q p = exp (- kl ys q p).
Proof.
  intros ys q p C. unfold exp_minus_kl. destruct (lacks ys p q) as [|y r] eqn:E; [reflexivity|exfalso].
  assert (I : In y (lacks ys p q)) by (rewrite E; simpl; auto). apply filter_In in I. destruct I as [I H].
  destruct (Rlt_dec 0 (q y)) as [Q|]; [|discriminate]. destruct (Rlt_dec 0 (p y)) as [|N]; [discriminate|]. exact (N (C y I Q)).
Qed.
Lemma exp_minus_kl_zero {Y} : forall (ys : list Y) q p y, In y ys -> 0 < q y -> p y = 0 -> exp_minus_kl ys q p = 0.
Proof.
  intros ys q p y I Q P. unfold exp_minus_kl. destruct (lacks ys p q) as [|z r] eqn:E; [exfalso|reflexivity].
  assert (C := lacks_nothing ys p q E y I Q). lra.
Qed.
Theorem never_a_reverse_target {Y} : forall (ys : list Y) q base valid beta, law ys base -> positive ys base ->
  0 < mass ys base valid < 1 -> positive ys q ->
  exp_minus_kl ys (tilted ys base valid beta) (filtered ys base valid) = 0 /\ exp_minus_kl ys q (filtered ys base valid) = 0.
Proof.
  intros ys q a v b L P M Q. assert (W : exists y, In y ys /\ v y = false).
  { destruct (existsb (fun y => negb (v y)) ys) eqn:E.
    - apply existsb_exists in E. destruct E as (y & I & N). exists y. split; [exact I|]. destruct (v y); [discriminate|reflexivity].
    - exfalso. assert (mass ys a v = 1); [|lra]. rewrite <- (proj2 L). apply sum_ext. intros y I. destruct (v y) eqn:V; [simpl; ring|].
      assert (X : existsb (fun y => negb (v y)) ys = true) by (apply existsb_exists; exists y; rewrite V; auto). congruence. }
  destruct W as (y & I & V). assert (Z : filtered ys a v y = 0) by (unfold filtered; rewrite V; simpl; unfold Rdiv; ring).
  split; apply (exp_minus_kl_zero ys _ _ y I); auto. apply tilted_law; auto.
Qed.
