(* The lemmas of textbooks (family L) at the examples that their entries keep. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot. From Interval Require Import Tactic.
From Kernel Require Import Laws Generators Updates Analysis Numbers Samples.
Import ListNotations. Open Scope R_scope.
Definition cube (x : R) : R := 0.5 ^ 2 * x + 0.5 * 1 * x ^ 2 + 1 ^ 2 * x ^ 3 / 3.
Definition parabola (x : R) : R := (x - 1.5) ^ 2.
Lemma parabola_continuous : forall x, 0 <= x <= 1 -> continuity_pt parabola x.
Proof. intros x _. apply continuity_pt_filterlim, (ex_derive_continuous parabola). unfold parabola. auto_derive. auto. Qed.
Lemma lowest_parabola : lowest parabola 0 1 = 0.25.
Proof.
  destruct (least_value parabola 0 1 ltac:(lra) parabola_continuous) as (L & (x & I & E) & _). assert (A := L 1 ltac:(lra)).
  assert (B : parabola 1 <= parabola x) by (unfold parabola; nra). rewrite E in B. unfold parabola in *. lra.
Qed.
Definition cubic (x : R) : R := x ^ 3 + 1 * x - 2.
Lemma cubic_continuous : forall x, 0 <= x <= 3 -> continuity_pt cubic x.
Proof. intros x _. apply continuity_pt_filterlim, (ex_derive_continuous cubic). unfold cubic. auto_derive. auto. Qed.
Definition root_of (x : R) : R := sqrt (2 + x).
Lemma root_continuous : forall x, 0 <= x <= 2 -> continuity_pt root_of x.
Proof. intros x I. apply continuity_pt_filterlim, (ex_derive_continuous root_of). unfold root_of. auto_derive. lra. Qed.
Lemma root_rises : forall x y, x <= y -> root_of x <= root_of y.
Proof. intros x y L. apply sqrt_le_1_alt. lra. Qed.
Lemma root_of_two : root_of 2 = 2.
Proof. unfold root_of. replace (2 + 2) with (2 * 2) by ring. apply sqrt_square. lra. Qed.
Lemma no_root_before : forall x, 0 <= x < 2 -> root_of x <> x.
Proof. intros x I E. assert (S := sqrt_sqrt (2 + x) ltac:(lra)). unfold root_of in E. rewrite E in S. nra. Qed.
Ltac with_sine := lazymatch goal with |- gives ?p _ => let E := fresh in pose proof p as E; cbv beta in E; split; cbv beta; [rewrite E|]; interval with (i_prec 80) end.
Example L1_rising : bounds (proj1 (rising cube (fun x => (0.5 + 1 * x) ^ 2) (-1) 1 real ltac:(intros x _; unfold cube; auto_derive; [auto|lra]) ltac:(intros x _; apply pow2_ge_0))) (-0.0833333333333) 1.0833333333333. Proof. both. Qed.
Example L1_tangent_1 : bounds (proj1 (tangent forward _ _ 0.4 2.5 (named_curved 0.5 forward _ _ real real n) h h)) (-0.0762907318742) 0.9162907318742. Proof. both. Qed.
Example L1_tangent_2 : bounds (proj1 (tangent reverse _ _ 0.4 2.5 (named_curved 0.5 reverse _ _ real real n) h h)) (-1.7334837072503) (-0.3665162927497). Proof. both. Qed.
Example L1_tangent_3 : bounds (proj1 (tangent jensen_shannon _ _ 0.4 2.5 (named_curved 0.5 jensen_shannon _ _ real real n) h h)) (-0.4169458103599) 0.1328286287646. Proof. both. Qed.
Example L1_tangent_4 : bounds (proj1 (tangent hellinger _ _ 0.4 2.5 (named_curved 0.5 hellinger _ _ real real n) h h)) (-0.4341210428977) 0.1350889359326. Proof. both. Qed.
Example L1_tangent_5 : bounds (proj1 (tangent pearson _ _ 0.4 2.5 (named_curved 0.5 pearson _ _ real real n) h h)) (-4.05) 0.36. Proof. both. Qed.
Example L1_tangent_6 : bounds (proj1 (tangent neyman _ _ 0.4 2.5 (named_curved 0.5 neyman _ _ real real n) h h)) (-0.864) 0.9. Proof. both. Qed.
Example L1_tangent_7 : bounds (proj1 (tangent (alpha_form 0.25) _ _ 0.4 2.5 (named_curved 0.25 (alpha_form 0.25) _ _ real real n) h h)) (-0.9900022619174) 0.2508086833431. Proof. both. Qed.
Example L1_tangent_8 : bounds (proj1 (tangent (alpha_form 0.5) _ _ 0.4 2.5 (named_curved 0.5 (alpha_form 0.5) _ _ real real n) h h)) (-0.8682420857953) 0.2701778718653. Proof. both. Qed.
Example L1_tangent_9 : bounds (proj1 (tangent (alpha_form 0.75) _ _ 0.4 2.5 (named_curved 0.75 (alpha_form 0.75) _ _ real real n) h h)) (-0.7646528503974) 0.2918894465757. Proof. both. Qed.
Example L1_jensen_1 : bounds (proj1 (jensen four forward _ _ (vector [0.2; 0.3; 0.4; 0.1]) (vector [0.5; 1; 4; 2]) (named_curved 0.5 forward _ _ real real n) h h)) (-0.7884573603643) (-0.485203026392). Proof. both. Qed.
Example L1_jensen_2 : bounds (proj1 (jensen four reverse _ _ (vector [0.2; 0.3; 0.4; 0.1]) (vector [0.5; 1; 4; 2]) (named_curved 0.5 reverse _ _ real real n) h h)) 1.7346061928014 2.2873856958478. Proof. both. Qed.
Example L1_jensen_3 : bounds (proj1 (jensen four jensen_shannon _ _ (vector [0.2; 0.3; 0.4; 0.1]) (vector [0.5; 1; 4; 2]) (named_curved 0.5 jensen_shannon _ _ real real n) h h)) 0.230594579215 0.4194693214026. Proof. both. Qed.
Example L1_jensen_4 : bounds (proj1 (jensen four hellinger _ _ (vector [0.2; 0.3; 0.4; 0.1]) (vector [0.5; 1; 4; 2]) (named_curved 0.5 hellinger _ _ real real n) h h)) 0.2335206051617 0.4343145750508. Proof. both. Qed.
Example L1_jensen_5 : bounds (proj1 (jensen four pearson _ _ (vector [0.2; 0.3; 0.4; 0.1]) (vector [0.5; 1; 4; 2]) (named_curved 0.5 pearson _ _ real real n) h h)) 1.44 3.75. Proof. both. Qed.
Example L1_jensen_6 : bounds (proj1 (jensen four neyman _ _ (vector [0.2; 0.3; 0.4; 0.1]) (vector [0.5; 1; 4; 2]) (named_curved 0.5 neyman _ _ real real n) h h)) 0.6545454545455 1.05. Proof. both. Qed.
Example L1_jensen_7 : bounds (proj1 (jensen four (alpha_form 0.25) _ _ (vector [0.2; 0.3; 0.4; 0.1]) (vector [0.5; 1; 4; 2]) (named_curved 0.25 (alpha_form 0.25) _ _ real real n) h h)) 0.4991315409546 0.9681554962694. Proof. both. Qed.
Example L1_jensen_8 : bounds (proj1 (jensen four (alpha_form 0.5) _ _ (vector [0.2; 0.3; 0.4; 0.1]) (vector [0.5; 1; 4; 2]) (named_curved 0.5 (alpha_form 0.5) _ _ real real n) h h)) 0.4670412103235 0.8686291501015. Proof. both. Qed.
Example L1_jensen_9 : bounds (proj1 (jensen four (alpha_form 0.75) _ _ (vector [0.2; 0.3; 0.4; 0.1]) (vector [0.5; 1; 4; 2]) (named_curved 0.75 (alpha_form 0.75) _ _ real real n) h h)) 0.4379558099685 0.785144429332. Proof. both. Qed.
Example L1_logarithm : bounds (proj1 (logarithm 0.5 h)) (-1) (-0.6931471805599). Proof. both. Qed.
Example L1_gibbs : bounds (proj1 (gibbs four pi ref h h ltac:(intros y I _; each I numbers))) (-1.6336368272038) (-1.2798542258337). Proof. both. Qed.
Example L1_cauchy : bounds (cauchy four (vector [0.2; 0.3; 0.4; 0.1]) (vector [1; 2; -1; 3]) (vector [2; 1; 1; -1]) h) 0.09 4.32. Proof. both. Qed.
Example L1_binomial_1 : gives (binomial_theorem 0.3 0.5 1) 0.8. Proof. split; binomials. Qed.
Example L1_binomial_2 : gives (binomial_theorem 0.3 0.5 2) 0.64. Proof. split; binomials. Qed.
Example L1_binomial_3 : gives (binomial_theorem 0.3 0.5 5) 0.32768. Proof. split; binomials. Qed.
Example L1_binomial_4 : gives (binomial_theorem 0.3 0.5 8) 0.16777216. Proof. split; binomials. Qed.
Example L1_least : bounds (proj1 (least_value parabola 0 1 real parabola_continuous) 0.3 real) 0.25 1.44. Proof. split; [rewrite lowest_parabola|]; numbers. Qed.
Example L1_between : gives (proj1 (proj2_sig (zero_between cubic 0 3 real cubic_continuous ltac:(unfold cubic; lra) ltac:(unfold cubic; lra)))) 0. Proof. nothing. Qed.
Example L1_limit : gives (first_fixed_point root_of 0 2 root_rises root_continuous ltac:(apply sqrt_pos) real root_of_two no_root_before) 2. Proof. nothing. Qed.
Example L1_curvature_1 : gives (the_limit _ _ _ (second_difference exp exp 1 (exp 1) 0.5 0.25 real real ltac:(intros y I; auto_derive; [first [exact Logic.I|lra]|first [ring|field; lra]]) ltac:(auto_derive; [first [exact Logic.I|lra]|first [ring|field; lra]]))) 2.718281828459. Proof. with_sine. Qed.
Example L1_curvature_2 : gives (the_limit _ _ _ (second_difference ln (fun x => / x) 1 (- / 1 ^ 2) 0.5 0.25 real real ltac:(intros y I; auto_derive; [first [exact Logic.I|lra]|first [ring|field; lra]]) ltac:(auto_derive; [first [exact Logic.I|lra]|first [ring|field; lra]]))) (-1). Proof. with_sine. Qed.
Example L1_curvature_3 : gives (the_limit _ _ _ (second_difference sin cos 1 (- sin 1) 0.5 0.25 real real ltac:(intros y I; auto_derive; [first [exact Logic.I|lra]|first [ring|field; lra]]) ltac:(auto_derive; [first [exact Logic.I|lra]|first [ring|field; lra]]))) (-0.8414709848079). Proof. with_sine. Qed.
