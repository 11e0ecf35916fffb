(* One beta for many prompts (A9). *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws KLControl Frontier.
Import ListNotations. Open Scope R_scope.
(* A9. Prompts xs, each with its base rate; means over the prompts. *)
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
Theorem one_beta_is_cheapest {X} : forall (xs : list X) base_rates targets gain, (forall x, In x xs -> 0 < base_rates x < 1) ->
  (forall x, In x xs -> 0 <= targets x <= 1) ->
  average xs targets = average xs (fun x => expit (logit (base_rates x) + gain)) ->
  average xs (fun x => bernoulli_kl (expit (logit (base_rates x) + gain)) (base_rates x)) <=
  average xs (fun x => bernoulli_kl (targets x) (base_rates x)).
Proof. intros xs r m g R M E. assert (D := dual xs r m g R M). rewrite average_minus, E in D. lra. Qed.
