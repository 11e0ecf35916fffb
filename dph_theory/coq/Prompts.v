(* One beta for many prompts. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws KLControl Frontier.
Import ListNotations. Open Scope R_scope.
(* Prompts xs, each with its base rate; means over the prompts. *)
Definition average {X : Type} (xs : list X) (f : X -> R) : R := sum xs f / INR (length xs).
Lemma average_le {X} : forall (xs : list X) f g, (forall x, In x xs -> f x <= g x) -> average xs f <= average xs g.
Proof.
  intros xs f g H. unfold average, Rdiv. apply Rmult_le_compat_r; [|apply sum_le, H].
  destruct xs; simpl; [rewrite Rinv_0; lra|]. apply Rlt_le, Rinv_0_lt_compat. apply (lt_INR 0 (S (length xs))). lia.
Qed.
Lemma average_minus {X} : forall (xs : list X) f g, average xs (fun x => f x - g x) = average xs f - average xs g.
Proof. intros. unfold average. rewrite sum_minus. unfold Rdiv. ring. Qed.
Lemma average_scale {X} : forall (xs : list X) c f, average xs (fun x => c * f x) = c * average xs f.
Proof. intros. unfold average. rewrite sum_scale. unfold Rdiv. ring. Qed.
Theorem dual {X} : forall (xs : list X) base_rates targets gain, (forall x, In x xs -> 0 < base_rates x < 1) ->
  (forall x, In x xs -> 0 <= targets x <= 1) ->
  average xs (fun x => bernoulli_kl (expit (logit (base_rates x) + gain)) (base_rates x))
    + gain * average xs (fun x => targets x - expit (logit (base_rates x) + gain)) <=
  average xs (fun x => bernoulli_kl (targets x) (base_rates x)).
Proof.
  intros xs r m g R M. rewrite <- average_scale. apply Rle_trans with (average xs (fun x =>
    bernoulli_kl (expit (logit (r x) + g)) (r x) - - (g * (m x - expit (logit (r x) + g))))).
  - right. rewrite average_minus. rewrite <- (Ropp_involutive (average xs (fun x => g * _))). unfold Rminus at 2. f_equal. f_equal.
    rewrite (average_scale xs g). rewrite <- Ropp_mult_distr_l_reverse, <- average_scale. unfold average. f_equal. apply sum_ext. intros; ring.
  - apply average_le. intros x I. rewrite (kappa_line (m x) (expit (logit (r x) + g)) (r x)), logit_expit.
    destruct (bernoulli_kl_nonneg (m x) (expit (logit (r x) + g)) (M x I) (expit_bounds _)) as [P _]. lra.
Qed.
(* Rates of the same mean, or of one that lies where the gain leads. *)
Theorem one_beta_is_cheapest {X} : forall (xs : list X) base_rates targets gain, (forall x, In x xs -> 0 < base_rates x < 1) ->
  (forall x, In x xs -> 0 <= targets x <= 1) ->
  0 <= gain * (average xs targets - average xs (fun x => expit (logit (base_rates x) + gain))) ->
  average xs (fun x => bernoulli_kl (expit (logit (base_rates x) + gain)) (base_rates x)) <=
  average xs (fun x => bernoulli_kl (targets x) (base_rates x)).
Proof. intros xs r m g R M E. assert (D := dual xs r m g R M). rewrite average_minus in D. lra. Qed.
(* The validity of the tilted model, also where no answer is valid: expit (logit m + g) elsewhere. *)
Definition raised (m g : R) : R := m * exp g / ((1 - m) + m * exp g).
Lemma raised_zero : forall m g, m = 0 -> raised m g = 0.
Proof. intros m g ->. unfold raised. rewrite Rmult_0_l. unfold Rdiv. ring. Qed.
Lemma raised_between : forall m g, 0 < m < 1 -> 0 < g ->
  0 < raised m g - m <= (exp g - 1) * (m * (1 - m)) /\ 0 < 1 - raised m g <= exp (- g) * ((1 - m) / m).
Proof.
  intros m g M G. assert (E : 1 < exp g) by (rewrite <- exp_0; apply exp_increasing, G). set (Z := (1 - m) + m * exp g).
  assert (HZ : 1 < Z) by (unfold Z; nra). assert (I : 0 < / Z <= 1).
  { split; [apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
  assert (D : raised m g - m = (exp g - 1) * (m * (1 - m)) * / Z) by (unfold raised, Z in *; field; lra).
  assert (F : 1 - raised m g = (1 - m) * / Z) by (unfold raised, Z in *; field; lra).
  assert (P : 0 < (exp g - 1) * (m * (1 - m))) by (apply Rmult_lt_0_compat; [lra|nra]). rewrite D, F. split; split; try nra.
  rewrite exp_Ropp. replace (/ exp g * ((1 - m) / m)) with ((1 - m) * / (m * exp g)) by (field; lra).
  apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; unfold Z; nra.
Qed.
Lemma average_lt {X} : forall (xs : list X) f g, (forall x, In x xs -> f x <= g x) ->
  (exists x, In x xs /\ f x < g x) -> average xs f < average xs g.
Proof.
  intros xs f g H (x & I & S). unfold average, Rdiv. apply Rmult_lt_compat_r.
  - apply Rinv_0_lt_compat, lt_0_INR. destruct xs; [contradiction|simpl; lia].
  - apply Rminus_gt_0_lt. rewrite <- sum_minus. apply Rlt_le_trans with (g x - f x); [lra|].
    apply (term_le_sum xs (fun x => g x - f x)); [|exact I]. intros z J. specialize (H z J). lra.
Qed.
(* Some prompts may have no right answer at all. *)
Definition rate {X : Type} (base_rates : X -> R) (solvable : X -> bool) (x : X) : R := one (solvable x) * base_rates x.
Theorem mean_between {X} : forall (xs : list X) base_rates solvable beta, (forall x, In x xs -> 0 < base_rates x < 1) ->
  (exists x, In x xs /\ solvable x = true) -> 0 < beta ->
  average xs (rate base_rates solvable) < average xs (fun x => raised (rate base_rates solvable x) (1 / beta)) /\
  average xs (fun x => raised (rate base_rates solvable x) (1 / beta)) < average xs (fun x => one (solvable x)).
Proof.
  intros xs r s b R (w & I & S) B. assert (G : 0 < 1 / b) by (apply Rdiv_lt_0_compat; lra).
  split; apply average_lt; try (exists w; split; [exact I|]; unfold rate; rewrite S; simpl; rewrite Rmult_1_l;
    destruct (raised_between (r w) (1 / b) (R w I) G); lra); intros x J; unfold rate; destruct (s x); simpl.
  - rewrite Rmult_1_l. destruct (raised_between (r x) (1 / b) (R x J) G); lra.
  - rewrite raised_zero; lra.
  - rewrite Rmult_1_l. destruct (raised_between (r x) (1 / b) (R x J) G); lra.
  - rewrite raised_zero; lra.
Qed.
Theorem mean_near_ends {X} : forall (xs : list X) base_rates solvable beta, (forall x, In x xs -> 0 < base_rates x < 1) ->
  0 < beta -> let A1 := rate base_rates solvable in let mean := average xs (fun x => raised (A1 x) (1 / beta)) in
  mean - average xs A1 <= (exp (1 / beta) - 1) * average xs (fun x => A1 x * (1 - A1 x)) /\
  average xs (fun x => one (solvable x)) - mean <=
    exp (- (1 / beta)) * average xs (fun x => one (solvable x) * ((1 - base_rates x) / base_rates x)).
Proof.
  intros xs r s b R B A1 mean. assert (G : 0 < 1 / b) by (apply Rdiv_lt_0_compat; lra). unfold mean.
  rewrite <- !average_minus, <- !average_scale. split; apply average_le; intros x J; unfold A1, rate; destruct (s x); simpl;
    rewrite ?Rmult_1_l; try (destruct (raised_between (r x) (1 / b) (R x J) G); lra); rewrite raised_zero; lra.
Qed.
