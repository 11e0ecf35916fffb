(* What the sampler selects: temperature, any sampler, truncation, resets, any reward, masks,
   errors tied to answers. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws KLControl Frontier Updates Motion.
Import ListNotations. Open Scope R_scope.
Definition normed {Y} (ys : list Y) (f : Y -> R) (y : Y) : R := f y / sum ys f.
Lemma normed_scale {Y} : forall (ys : list Y) f g c y, c <> 0 -> sum ys g <> 0 -> In y ys -> (forall z, In z ys -> f z = c * g z) ->
  normed ys f y = normed ys g y.
Proof. intros ys f g c y C S I E. unfold normed. rewrite (sum_ext ys f (fun z => c * g z)), sum_scale, E by auto. field. auto. Qed.
Lemma positive_sum {Y} : forall (ys : list Y) f y, In y ys -> positive ys f -> 0 < sum ys f.
Proof. intros ys f y I P. assert (T := term_le_sum ys f y (fun z J => Rlt_le _ _ (P z J)) I). assert (Q := P y I). lra. Qed.
Definition at_temperature {Y} (ys : list Y) (p : Y -> R) (T : R) : Y -> R := normed ys (fun y => Rpower (p y) (/ T)).
Theorem temperature_divides_beta {Y} : forall (ys : list Y) base valid beta T y, positive ys base -> 0 < beta -> 0 < T -> In y ys ->
  at_temperature ys (tilted ys (at_temperature ys base T) valid beta) (/ T) y = tilted ys base valid (beta / T) y.
Proof.
  intros ys a v b T y P B HT I. set (g := fun z => Rpower (a z) (/ T)). assert (S := positive_sum ys g y I (fun z _ => exp_pos _)).
  set (k := fun z => normed ys g z * exp (one (v z) / b)). assert (K : positive ys k).
  { intros z _. apply Rmult_lt_0_compat; [apply Rdiv_lt_0_compat; [apply exp_pos|exact S]|apply exp_pos]. }
  assert (Q := positive_sum ys k y I K). set (c := / (sum ys g * sum ys k)). assert (C : 0 < c) by (apply Rinv_0_lt_compat, Rmult_lt_0_compat; auto).
  change (tilted ys a v (b / T) y) with (normed ys (fun z => a z * exp (one (v z) / (b / T))) y).
  apply normed_scale with (Rpower c T); [apply Rgt_not_eq, exp_pos| |exact I|].
  - apply Rgt_not_eq, (positive_sum ys _ y I). intros z J. apply Rmult_lt_0_compat; [apply P, J|apply exp_pos].
  - intros z J. rewrite Rinv_inv. replace (tilted ys (at_temperature ys a T) v b z) with (c * (g z * exp (one (v z) / b))).
    + rewrite <- !Rpower_mult_distr by (auto; try apply Rmult_lt_0_compat; apply exp_pos). f_equal.
      unfold g. rewrite Rpower_mult, Rinv_l, Rpower_1 by (auto; lra). f_equal. unfold Rpower. rewrite ln_exp. f_equal. field. lra.
    + unfold tilted, at_temperature. fold g. fold k. unfold normed, c. field. lra.
Qed.
Theorem any_sampler {Y} : forall (ys : list Y) base valid beta q d, law ys base -> positive ys base -> 0 < beta -> sum ys q = 1 ->
  let p := tilted ys base valid beta in let reward := fun y => one (valid y) - beta * ln (p y / base y) in
  sum ys (fun y => q y * (reward y - sum ys (fun z => q z * reward z)) * (d y - sum ys (fun z => p z * d z))) = 0.
Proof.
  intros ys a v b q d L P B S p r. apply sum_zero. intros y I.
  assert (R0 : forall z, In z ys -> r z = b * ln (normaliser (mass ys a v) b)) by (intros z J; apply penalised; auto).
  rewrite (sum_ext ys (fun z => q z * r z) (fun z => b * ln (normaliser (mass ys a v) b) * q z)) by (intros z J; rewrite R0 by exact J; ring).
  rewrite sum_scale, S, R0 by exact I. ring.
Qed.
Theorem outside_stays {Y} : forall (ys : list Y) q p c y, sum ys q = 1 -> q y = 0 -> let mean := sum ys (fun z => q z * c z) in
  q y * (c y - mean) - p y * sum ys (fun z => q z * (c z - mean)) = 0.
Proof.
  intros ys q p c y S Z m. rewrite Z, (sum_ext ys _ (fun z => q z * c z - m * q z)) by (intros; ring).
  rewrite sum_minus, sum_scale, S. unfold m. ring.
Qed.
Theorem resets_divide_beta {Y} : forall (ys : list Y) base valid beta k y, law ys base -> positive ys base -> 0 < beta -> In y ys ->
  Nat.iter (S k) (fun a => tilted ys a valid beta) base y = tilted ys base valid (beta / INR (S k)) y.
Proof.
  intros ys a v b k y L P B I. set (g := fun k z => a z * exp (INR k * (one (v z) / b))).
  assert (G : forall k, positive ys (g k)) by (intros j z J; apply Rmult_lt_0_compat; [apply P, J|apply exp_pos]).
  assert (E : forall k z, In z ys -> Nat.iter k (fun a => tilted ys a v b) a z = normed ys (g k) z).
  { induction k0 as [|j IH]; intros z J.
    - unfold normed. rewrite (sum_ext ys (g 0%nat) a) by (intros; unfold g; simpl; rewrite Rmult_0_l, exp_0; ring).
      rewrite (proj2 L). unfold g. simpl. rewrite Rmult_0_l, exp_0. field.
    - assert (Z := positive_sum ys _ z J (G j)).
      change (normed ys (fun x => Nat.iter j (fun a => tilted ys a v b) a x * exp (one (v x) / b)) z = normed ys (g (S j)) z).
      apply normed_scale with (/ sum ys (g j)); auto.
      + apply Rinv_neq_0_compat. lra.
      + apply Rgt_not_eq, (positive_sum ys _ z J), G.
      + intros x Jx. rewrite IH by exact Jx.
        unfold normed, g. rewrite S_INR, Rmult_plus_distr_r, exp_plus, Rmult_1_l. field. unfold g in Z. lra. }
  rewrite E by exact I. assert (N := lt_0_INR (S k) ltac:(lia)).
  assert (F : forall z, g (S k) z = a z * exp (one (v z) / (b / INR (S k)))) by (intro z; unfold g; do 2 f_equal; field; lra).
  unfold normed, tilted. rewrite F. f_equal. apply sum_ext. intros z _. apply F.
Qed.
(* The logits of the finished keep their sum, and the others theirs. *)
Definition true_rate (right wrong hacks phi nu beta : R) : R :=
  right * exp ((1 - nu) / beta) / (right * exp ((1 - nu) / beta) + wrong * exp (phi / beta) + hacks * exp (1 / beta)).
Theorem best_under_hacks : forall right wrong hacks phi nu beta, 0 < right -> 0 < wrong -> 0 < hacks -> 0 <= phi -> 0 < nu ->
  0 < 1 - phi - nu -> nu * hacks < (1 - phi - nu) * wrong -> 0 < beta -> true_rate right wrong hacks phi nu beta <=
  true_rate right wrong hacks phi nu ((1 - phi) / ln ((1 - phi - nu) * wrong / (nu * hacks))).
Proof.
  intros r w h phi nu b Hr Hw Hh Hp Hn HJ Ho Hb. set (J := 1 - phi - nu) in *. assert (K : 0 < nu * h) by (apply Rmult_lt_0_compat; auto).
  assert (F : 0 < 1 - phi) by (unfold J in HJ; lra). set (x0 := ln (J * w / (nu * h)) / (1 - phi)). assert (X0 : 0 < ln (J * w / (nu * h))).
  { rewrite <- ln_1. apply ln_increasing; [lra|]. apply (Rmult_lt_reg_r (nu * h)); [exact K|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  set (g := fun x => w * exp (- J * x) + h * exp (nu * x)).
  assert (V : forall c, 0 < c -> true_rate r w h phi nu c = r / (r + g (/ c))).
  { intros c Hc. unfold true_rate, g. assert (E := exp_pos ((1 - nu) / c)).
    replace (exp (phi / c)) with (exp ((1 - nu) / c) * exp (- J * / c)) by (rewrite <- exp_plus; f_equal; unfold J; field; lra).
    replace (exp (1 / c)) with (exp ((1 - nu) / c) * exp (nu * / c)) by (rewrite <- exp_plus; f_equal; field; lra).
    assert (A := exp_pos (- J * / c)). assert (D := exp_pos (nu * / c)).
    assert (0 < w * exp (- J * / c)) by (apply Rmult_lt_0_compat; auto). assert (0 < h * exp (nu * / c)) by (apply Rmult_lt_0_compat; auto).
    field. split; [lra|]. apply Rgt_not_eq.
    assert (0 < exp ((1 - nu) / c) * (r + w * exp (- J * / c) + h * exp (nu * / c))) by (apply Rmult_lt_0_compat; lra). lra. }
  rewrite !V by (auto; apply Rdiv_lt_0_compat; lra). replace (/ ((1 - phi) / ln (J * w / (nu * h)))) with x0 by (unfold x0; field; repeat split; lra).
  assert (T : J * w * exp (- J * x0) = nu * h * exp (nu * x0)).
  { replace (nu * x0) with (ln (J * w / (nu * h)) + - J * x0) by (unfold x0, J; field; repeat split; lra). rewrite exp_plus, exp_ln.
    - field. lra. - apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; lra|exact K]. }
  assert (M : g x0 <= g (/ b)).
  { set (d := / b - x0). assert (A := exp_ineq1_le (- J * d)). assert (D := exp_ineq1_le (nu * d)). unfold g.
    replace (- J * / b) with (- J * x0 + - J * d) by (unfold d; ring). replace (nu * / b) with (nu * x0 + nu * d) by (unfold d; ring).
    rewrite !exp_plus. assert (P := exp_pos (- J * x0)). assert (Q := exp_pos (nu * x0)).
    assert (w * exp (- J * x0) * (1 + - J * d) <= w * exp (- J * x0) * exp (- J * d)) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]).
    assert (h * exp (nu * x0) * (1 + nu * d) <= h * exp (nu * x0) * exp (nu * d)) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]).
    assert (J * w * exp (- J * x0) * d = nu * h * exp (nu * x0) * d) by (rewrite T; ring). lra. }
  assert (P : 0 < g x0) by (unfold g; apply Rplus_lt_0_compat; apply Rmult_lt_0_compat; auto using exp_pos).
  apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; lra.
Qed.
