(* The stated improvement bound: with its penalties of factor gamma it fails at gamma = 0 whatever they are, and
   at every gamma below 1 and every constant for a small step. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Extremes Pinsker KLControl Divergences Processing Returns.
Import ListNotations. Open Scope R_scope.

(* At gamma = 0 the forecast is the return, so that the bonus delta/(1 - gamma) is all that the bound adds. *)
Theorem stated_without_future {S A : Type} : forall (ss : list S) (acts : list A) P r rho pi old pef V W d e alpha1 alpha2,
  pair ss acts P r 0 rho pi old V W d e -> 0 < least_gain ss acts P r 0 V pef ->
  return_of ss rho W < forecast ss acts P r 0 rho V e pi - 0 * alpha1 + least_gain ss acts P r 0 V pef / (1 - 0) - 0 * alpha2.
Proof.
  intros ss acts P r rho pi old pef V W d e x y H B. assert (K := shortfall_is ss acts P r 0 rho pi old V W d e H).
  destruct H as (_ & _ & _ & _ & _ & [_ D] & [_ F]). rewrite (sum_zero ss) in K; [|intros s I; rewrite (D s I), (F s I); ring]. lra.
Qed.
(* One state: pi = pi_old, and a reference a share t towards q. *)
Section Bandit.
Context {A : Type} (acts : list A) (r pi q : A -> R).
Definition toward (t : R) (a : A) : R := (1 - t) * pi a + t * q a.
Definition mean_reward (p : A -> R) : R := sum acts (fun a => p a * r a).
Definition worst (p : A -> R) : R := highest acts (fun a => Rabs (r a - mean_reward p)).
Definition chi2 : R := sum acts (fun a => (q a - pi a) ^ 2 / pi a).
Lemma toward_law : forall t, law acts pi -> law acts q -> 0 <= t <= 1 -> law acts (toward t).
Proof.
  intros t [Wp Sp] [Wq Sq] T. split.
  - intros a I. assert (X := Wp a I). assert (Y := Wq a I). unfold toward. nra.
  - unfold toward. rewrite sum_plus, !sum_scale, Sp, Sq. ring.
Qed.
Lemma worst_below : forall p, law acts p -> acts <> [] -> 0 <= worst p <= span acts r.
Proof.
  intros p [Wp Sp] N. assert (B : lowest acts r <= mean_reward p <= highest acts r).
  { unfold mean_reward. rewrite <- (Rmult_1_r (lowest acts r)), <- (Rmult_1_r (highest acts r)), <- Sp, <- !sum_scale. split; apply sum_le; intros a I.
    - rewrite Rmult_comm. apply Rmult_le_compat_l; [apply Wp, I|apply lowest_le, I].
    - rewrite (Rmult_comm (highest acts r)). apply Rmult_le_compat_l; [apply Wp, I|apply le_highest, I]. }
  destruct (highest_in acts (fun a => Rabs (r a - mean_reward p)) N) as (a & I & E). unfold worst. rewrite E. split; [apply Rabs_pos|].
  assert (X := le_highest acts r a I). assert (Y := lowest_le acts r a I). apply Rabs_le. unfold span. lra.
Qed.
(* Below the second order of f. *)
Lemma second_order : forall f f1 f2 M u, curved f f1 f2 -> f 1 = 0 -> (forall x, / 2 <= x <= 2 -> f2 x <= M) -> / 2 <= u <= 2 ->
  f u <= f1 1 * (u - 1) + M * (u - 1) ^ 2.
Proof.
  intros f f1 f2 M u K Z B U. set (g := fun x => f1 1 * (x - 1) + M * (x - 1) ^ 2 - f x). assert (M0 : 0 <= M).
  { apply Rle_trans with (f2 1); [apply (K 1); lra|apply B; lra]. }
  assert (slope : forall x, / 2 <= x <= 2 -> exists c, f1 x - f1 1 = c * (x - 1) /\ 0 <= c <= M).
  { intros x H. destruct (Rtotal_order x 1) as [L|[->|L]]; [|exists 0; lra|].
    - destruct (mean_value f1 f2 x 1 L) as (c & E & I); [intros y Y; apply (K y); lra|]. exists (f2 c). split; [lra|split; [apply (K c); lra|apply B; lra]].
    - destruct (mean_value f1 f2 1 x L) as (c & E & I); [intros y Y; apply (K y); lra|]. exists (f2 c). split; [lra|split; [apply (K c); lra|apply B; lra]]. }
  assert (D : forall x, 0 < x -> is_derive g x (f1 1 + 2 * M * (x - 1) - f1 x)).
  { intros x X. destruct (K x X) as [Df _]. assert (E := is_derive_unique _ _ _ Df). unfold g. auto_derive; [exists (f1 x); exact Df|].
    change (Derive (fun x => f x)) with (Derive f). rewrite E. ring. }
  assert (g1 : g 1 = 0) by (unfold g; rewrite Z; ring). assert (0 <= g u); [|unfold g in *; lra]. rewrite <- g1.
  destruct (Rle_or_lt 1 u) as [L|L].
  - apply (rising g (fun x => f1 1 + 2 * M * (x - 1) - f1 x) 1 u L); intros x X; [apply D; lra|]. destruct (slope x ltac:(lra)) as (c & E & C). nra.
  - assert (- g u <= - g 1); [|lra]. apply (rising (fun x => - g x) (fun x => - (f1 1 + 2 * M * (x - 1) - f1 x)) u 1); [lra| |]; intros x X.
    + apply (is_derive_opp g x). apply D. lra.
    + destruct (slope x ltac:(lra)) as (c & E & C). nra.
Qed.
Lemma divergence_small : forall f f1 f2 M t, curved f f1 f2 -> f 1 = 0 -> (forall x, / 2 <= x <= 2 -> f2 x <= M) ->
  law acts pi -> positive acts pi -> law acts q -> 0 <= t <= 1 / 2 -> (forall a, In a acts -> t <= pi a) ->
  divergence acts f pi (toward t) <= 2 * M * t ^ 2 * chi2.
Proof.
  intros f f1 f2 M t K Z B Lp P Lq T S. assert (Lt := toward_law t Lp Lq ltac:(lra)). assert (M0 : 0 <= M).
  { apply Rle_trans with (f2 1); [apply (K 1); lra|apply B; lra]. }
  assert (q1 : forall a, In a acts -> 0 <= q a <= 1).
  { intros a I. split; [apply Lq, I|]. rewrite <- (proj2 Lq). apply term_le_sum; [apply Lq|exact I]. }
  apply Rle_trans with (sum acts (fun a => f1 1 * (pi a - toward t a) + 2 * M * t ^ 2 * ((q a - pi a) ^ 2 / pi a))).
  - apply sum_le. intros a I. assert (X := P a I). assert (Y := q1 a I). assert (W := S a I). set (w := toward t a).
    assert (Hw : pi a / 2 <= w <= 2 * pi a) by (unfold w, toward; nra). assert (U : / 2 <= pi a / w <= 2).
    { split; apply Rmult_le_reg_r with w; try lra; unfold Rdiv; rewrite ?(Rmult_assoc (pi a)), ?Rinv_l by lra; lra. }
    assert (F := second_order f f1 f2 M (pi a / w) K Z B U). apply (Rmult_le_compat_l w) in F; [|lra]. apply Rle_trans with (1 := F).
    replace (w * (f1 1 * (pi a / w - 1) + M * (pi a / w - 1) ^ 2)) with (f1 1 * (pi a - w) + M * (pi a - w) ^ 2 * / w) by (field; lra).
    apply Rplus_le_compat_l. replace (2 * M * t ^ 2 * ((q a - pi a) ^ 2 / pi a)) with (M * (pi a - w) ^ 2 * (2 * / pi a)) by (unfold w, toward; field; lra).
    apply Rmult_le_compat_l; [apply Rmult_le_pos; [exact M0|apply pow2_ge_0]|]. replace (2 * / pi a) with (/ (pi a / 2)) by (field; lra).
    apply Rinv_le_contravar; lra.
  - right. rewrite sum_plus, !sum_scale, sum_minus, (proj2 Lp), (proj2 Lt). fold chi2. ring.
Qed.
(* f any divergence with f'' at most M near 1. *)
Theorem no_constant_helps : forall f f1 f2 M gamma constant t, curved f f1 f2 -> f 1 = 0 -> (forall x, / 2 <= x <= 2 -> f2 x <= M) ->
  acts <> [] -> law acts pi -> positive acts pi -> law acts q -> 0 <= gamma < 1 -> 0 <= constant -> 0 < t <= 1 / 2 ->
  (forall a, In a acts -> t <= pi a) ->
  4 * constant * gamma * span acts r * M * chi2 * t <= (1 - gamma) * (mean_reward q - mean_reward pi) ->
  (mean_reward q - mean_reward pi) / 2 <= (mean_reward (toward t) - mean_reward pi) / t
    - constant * gamma / (1 - gamma) * worst (toward t) * divergence acts f pi (toward t) / t.
Proof.
  intros f f1 f2 M g C t K Z B N Lp P Lq G HC T S H. assert (D := divergence_small f f1 f2 M t K Z B Lp P Lq ltac:(lra) S).
  destruct (worst_below (toward t) (toward_law t Lp Lq ltac:(lra)) N) as [W0 W1]. set (w := worst (toward t)) in *. set (x := chi2) in *.
  assert (E : mean_reward (toward t) - mean_reward pi = t * (mean_reward q - mean_reward pi)).
  { unfold mean_reward. rewrite <- !sum_minus, <- sum_scale. apply sum_ext. intros; unfold toward; ring. }
  rewrite E. replace (t * (mean_reward q - mean_reward pi) / t) with (mean_reward q - mean_reward pi) by (field; lra).
  assert (x0 : 0 <= x).
  { apply sum_nonneg. intros a I. apply Rdiv_le_0_compat; [apply pow2_ge_0|apply P, I]. }
  assert (M0 : 0 <= M) by (apply Rle_trans with (f2 1); [apply (K 1); lra|apply B; lra]).
  assert (c0 : 0 <= C * g / (1 - g)) by (apply Rdiv_le_0_compat; [apply Rmult_le_pos|]; lra).
  assert (Q : C * g / (1 - g) * w * divergence acts f pi (toward t) / t <= C * g / (1 - g) * span acts r * (2 * M * x) * t).
  { apply Rmult_le_reg_r with t; [lra|]. replace (C * g / (1 - g) * w * divergence acts f pi (toward t) / t * t) with
      (C * g / (1 - g) * (w * divergence acts f pi (toward t))) by (field; lra).
    replace (C * g / (1 - g) * span acts r * (2 * M * x) * t * t) with (C * g / (1 - g) * (span acts r * (2 * M * t ^ 2 * x))) by ring.
    apply Rmult_le_compat_l; [exact c0|]. apply Rle_trans with (w * (2 * M * t ^ 2 * x)); [apply Rmult_le_compat_l; auto|].
    apply Rmult_le_compat_r; [|exact W1]. repeat apply Rmult_le_pos; try lra. }
  assert (R : C * g / (1 - g) * span acts r * (2 * M * x) * t <= (mean_reward q - mean_reward pi) / 2); [|lra].
  apply Rmult_le_reg_r with (2 * (1 - g)); [lra|].
  replace (C * g / (1 - g) * span acts r * (2 * M * x) * t * (2 * (1 - g))) with (4 * C * g * span acts r * M * x * t) by (field; lra). lra.
Qed.
End Bandit.
